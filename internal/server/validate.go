package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/avalanched/avalanched/internal/service"
)

// requestRules are the rules for requests that stand in the proto files.
type requestRules struct {
	// all finds everything that is wrong, and first stops at one thing.
	all, first protovalidate.Validator
	// maxItems is how many items each list may have.
	maxItems map[protoreflect.FullName]int
}

// newRequestRules compiles the rules of all requests of a service, so that a mistake
// in one shows at start and not at its first use.
func newRequestRules(sd protoreflect.ServiceDescriptor) (*requestRules, error) {
	rules := &requestRules{maxItems: map[protoreflect.FullName]int{}}
	var requests []protoreflect.MessageDescriptor
	for i := range sd.Methods().Len() {
		request := sd.Methods().Get(i).Input()
		requests = append(requests, request)
		if err := rules.readMaxItems(request); err != nil {
			return nil, fmt.Errorf("rules of the requests: %w", err)
		}
	}
	compiled := []protovalidate.ValidatorOption{protovalidate.WithMessageDescriptors(requests...), protovalidate.WithDisableLazy()}
	var err error
	if rules.all, err = protovalidate.New(compiled...); err != nil {
		return nil, fmt.Errorf("rules of the requests: %w", err)
	}
	if rules.first, err = protovalidate.New(append(compiled, protovalidate.WithFailFast())...); err != nil {
		return nil, fmt.Errorf("rules of the requests: %w", err)
	}
	return rules, nil
}

// readMaxItems notes the limits of the lists in a message. No request has a list inside
// of a list's items.
func (r *requestRules) readMaxItems(message protoreflect.MessageDescriptor) error {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if !field.IsList() {
			if field.Message() != nil {
				if err := r.readMaxItems(field.Message()); err != nil {
					return err
				}
			}
			continue
		}
		rules, err := protovalidate.ResolveFieldRules(field)
		if err != nil {
			return err
		}
		if rules.GetRepeated().MaxItems == nil {
			return fmt.Errorf("the list %s has no max_items", field.FullName())
		}
		r.maxItems[field.FullName()] = int(rules.GetRepeated().GetMaxItems())
	}
	return nil
}

// longList is the length from which on the first mistake in a request is enough: to
// describe one takes a kilobyte. Only records of games have as many items.
const longList = 64

// check holds a request against the rules.
func (r *requestRules) check(request proto.Message) error {
	validator := r.all
	// The library would go on to look at every item of a list that is too long.
	var tooLong []service.Violation
	r.lists(request.ProtoReflect(), "", func(l listLength) {
		if l.length > l.max {
			tooLong = append(tooLong, service.Violation{
				Field: l.path, Description: fmt.Sprintf("must contain no more than %d item(s)", l.max),
			})
		}
		if l.length > longList {
			validator = r.first
		}
	})
	if len(tooLong) > 0 {
		return broken(tooLong)
	}
	err := validator.Validate(request)
	all, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok {
		return err
	}
	var violations []service.Violation
	for _, v := range all.Violations {
		violations = append(violations, describe(v.Proto, request.ProtoReflect().Descriptor())...)
	}
	return broken(violations)
}

// listLength is how long a list of a request is, and may be.
type listLength struct {
	path        string
	length, max int
}

// lists visits the lists of a message, except those in a list's items.
func (r *requestRules) lists(message protoreflect.Message, path string, visit func(listLength)) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		here := joinPath(path, field.JSONName())
		switch {
		case field.IsList():
			visit(listLength{here, value.List().Len(), r.maxItems[field.FullName()]})
		case field.Message() != nil:
			r.lists(value.Message(), here, visit)
		}
		return true
	})
}

// maxViolations bounds how many fields at fault an error names. Over gRPC they travel in
// the trailers, of which clients take as little as 8 KiB.
const maxViolations = 16

// broken is a request that breaks rules.
func broken(violations []service.Violation) *service.Problem {
	return invalid(summary(violations), violations[:min(len(violations), maxViolations)]...)
}

// summary puts violations into one sentence. Programs read the violations
// themselves, so the first two are enough.
func summary(violations []service.Violation) string {
	var b strings.Builder
	for i, v := range violations {
		if i == 2 {
			fmt.Fprintf(&b, "; and %d more", len(violations)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.Field + ": " + v.Description)
	}
	return b.String()
}

// describe translates a violation of a message's rules into JSON names.
func describe(v *validate.Violation, message protoreflect.MessageDescriptor) []service.Violation {
	path := ""
	for _, element := range v.GetField().GetElements() {
		field := message.Fields().ByNumber(protoreflect.FieldNumber(element.GetFieldNumber()))
		if field == nil {
			return describeOneof(path, message.Oneofs().ByName(protoreflect.Name(element.GetFieldName())))
		}
		name := field.JSONName()
		if element.HasIndex() {
			name += "[" + strconv.FormatUint(element.GetIndex(), 10) + "]"
		}
		path = joinPath(path, name)
		message = field.Message()
	}
	return []service.Violation{{Field: path, Description: v.GetMessage()}}
}

// describeOneof is for a oneof without a value. JSON has no name for a oneof: the
// message around it is at fault, or in a request each of the fields.
func describeOneof(path string, oneof protoreflect.OneofDescriptor) []service.Violation {
	var names []string
	for i := range oneof.Fields().Len() {
		names = append(names, oneof.Fields().Get(i).JSONName())
	}
	description := "must have one of " + strings.Join(names, ", ")
	if path != "" {
		return []service.Violation{{Field: path, Description: description}}
	}
	var violations []service.Violation
	for _, name := range names {
		violations = append(violations, service.Violation{Field: name, Description: "one of " + strings.Join(names, ", ") + " is needed"})
	}
	return violations
}
