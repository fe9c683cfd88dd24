package server

import (
	"bytes"
	"fmt"
	"strconv"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // Clients may compress long records.
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/avalanched/avalanched/internal/service"
)

// strictCodec is the protobuf codec of the gRPC server. An error from a codec
// reaches the client as INTERNAL without details, and no interceptor sees it. So
// where decoding fails, the message is left empty but for a mark among its unknown
// fields, where refuseUnknown finds it and answers as for any other bad request.
type strictCodec struct {
	encoding.CodecV2
	maxBytes int
}

// The marks are tags of field number 0, which no message that decodes can hold.
var (
	markUndecodable = protoreflect.RawFields{0x00}
	markTooLarge    = protoreflect.RawFields{0x01}
	markTooMany     = protoreflect.RawFields{0x02}
)

// maxReceiveBytes is the length up to which the transport takes in a message. It is
// beyond the limit, so that the codec can refuse most of what is too long and say
// why; what is longer still, the transport refuses with nothing but the code.
func maxReceiveBytes(limit int) int { return 2 * limit }

func newStrictCodec(maxBytes int) strictCodec {
	return strictCodec{CodecV2: encoding.GetCodecV2(protocodec.Name), maxBytes: maxBytes}
}

// Unmarshal implements encoding.CodecV2.
func (c strictCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if data.Len() > c.maxBytes {
		return mark(v, markTooLarge)
	}
	// A part has at least two bytes.
	if message, ok := v.(proto.Message); ok && data.Len() > 2*maxParts {
		flat := data.Materialize()
		if countParts(flat, message.ProtoReflect().Descriptor()) > maxParts {
			return mark(v, markTooMany)
		}
		data = mem.BufferSlice{mem.SliceBuffer(flat)}
	}
	if err := c.CodecV2.Unmarshal(data, v); err != nil {
		return mark(v, markUndecodable)
	}
	return nil
}

// countParts counts the messages and the items of lists in a message that is not decoded
// yet, as far as it can be.
func countParts(data []byte, message protoreflect.MessageDescriptor) int {
	parts := 0
	for len(data) > 0 {
		number, wireType, n := protowire.ConsumeTag(data)
		if n < 0 {
			break
		}
		length := protowire.ConsumeFieldValue(number, wireType, data[n:])
		if length < 0 {
			break
		}
		value := data[n : n+length]
		data = data[n+length:]
		field := message.Fields().ByNumber(number)
		switch {
		case field == nil:
		case field.Message() != nil && wireType == protowire.BytesType:
			inner, _ := protowire.ConsumeBytes(value)
			parts += 1 + countParts(inner, field.Message())
		case field.IsList():
			parts++
		}
	}
	return parts
}

func mark(v any, mark protoreflect.RawFields) error {
	message, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no protobuf message", v)
	}
	proto.Reset(message)
	message.ProtoReflect().SetUnknown(mark)
	return nil
}

// refuseUnknown finds fields that the server does not know, anywhere in a message.
// Ignoring them would do something else than the client asked for.
func refuseUnknown(message proto.Message, maxBytes int) error {
	m := message.ProtoReflect()
	switch unknown := m.GetUnknown(); {
	case bytes.Equal(unknown, markTooLarge):
		return tooLarge(strconv.Itoa(maxBytes))
	case bytes.Equal(unknown, markTooMany):
		return malformed(fmt.Sprintf("the message has more than %d messages and items of lists, and no request needs as many", maxParts))
	case bytes.Equal(unknown, markUndecodable):
		return malformed(fmt.Sprintf("the message is no %s in protobuf's binary format; mind that strings must be UTF-8", m.Descriptor().FullName()))
	}
	path, number, found := findUnknown(m)
	if !found {
		return nil
	}
	field := joinPath(path, strconv.Itoa(int(number)))
	return invalid(
		fmt.Sprintf("the request has a field that this server does not know: %s; was it made for a newer version?", field),
		service.Violation{Field: field, Description: "no field has this number"},
	)
}

// findUnknown returns where the first unknown field is: the path of the message
// that holds it, and its number.
func findUnknown(m protoreflect.Message) (path string, number protowire.Number, found bool) {
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return "", number, true
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		// No request has maps.
		if field.Message() == nil || field.IsMap() {
			return true
		}
		if !field.IsList() {
			if path, number, found = findUnknown(value.Message()); found {
				path = joinPath(field.JSONName(), path)
			}
			return !found
		}
		list := value.List()
		for i := 0; i < list.Len() && !found; i++ {
			if path, number, found = findUnknown(list.Get(i).Message()); found {
				path = joinPath(fmt.Sprintf("%s[%d]", field.JSONName(), i), path)
			}
		}
		return !found
	})
	return path, number, found
}

func joinPath(head, tail string) string {
	if head == "" || tail == "" {
		return head + tail
	}
	return head + "." + tail
}
