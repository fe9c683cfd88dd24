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

// newValidator compiles the rules of all requests of a service, so that a mistake
// in one shows at start and not at its first use.
func newValidator(sd protoreflect.ServiceDescriptor) (protovalidate.Validator, error) {
	var requests []protoreflect.MessageDescriptor
	for i := range sd.Methods().Len() {
		requests = append(requests, sd.Methods().Get(i).Input())
	}
	validator, err := protovalidate.New(protovalidate.WithMessageDescriptors(requests...), protovalidate.WithDisableLazy())
	if err != nil {
		return nil, fmt.Errorf("rules of the requests: %w", err)
	}
	return validator, nil
}

// validateRequest checks a request by the rules in its proto file.
func validateRequest(validator protovalidate.Validator, request proto.Message) error {
	err := validator.Validate(request)
	broken, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok {
		return err
	}
	var violations []service.Violation
	for _, v := range broken.Violations {
		violations = append(violations, describe(v.Proto, request.ProtoReflect().Descriptor())...)
	}
	return invalid(summary(violations), violations...)
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
