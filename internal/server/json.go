package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/avalanched/avalanched/internal/service"
)

// maxJSONDepth bounds how deep messages in a body may be nested. Requests need 3.
const maxJSONDepth = 16

// maxParts bounds the messages and the items of lists in a request, before they are made:
// each may take a hundred times as much memory as the two bytes in which it is sent. The
// longest replay has 20,000.
const maxParts = 1 << 15

// jsonCodec is how the gateway reads and writes JSON.
type jsonCodec struct{}

// Marshal implements runtime.Marshaler.
func (jsonCodec) Marshal(v any) ([]byte, error) {
	message, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", v)
	}
	// A zero is data in a game, a missing message is none.
	return marshalCompact(message, protojson.MarshalOptions{EmitDefaultValues: true})
}

// marshalCompact makes the same JSON of the same message every time. The library
// puts in blanks at random, so that nobody relies on its output.
func marshalCompact(message proto.Message, options protojson.MarshalOptions) ([]byte, error) {
	spaced, err := options.Marshal(message)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	compact.Grow(len(spaced))
	if err := json.Compact(&compact, spaced); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// Unmarshal implements runtime.Marshaler.
func (jsonCodec) Unmarshal(data []byte, v any) error {
	message, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no protobuf message", v)
	}
	if wrong := decodeJSON(data, message); wrong != nil {
		return wrong.inBody()
	}
	return nil
}

// NewDecoder implements runtime.Marshaler. The generated handlers keep nothing of
// an error but its text, so it is left with the body as well.
func (c jsonCodec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		err = c.Unmarshal(data, v)
		if body, ok := r.(*requestBody); ok {
			body.err = err
		}
		return err
	})
}

// NewEncoder implements runtime.Marshaler.
func (c jsonCodec) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := c.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}

// ContentType implements runtime.Marshaler.
func (jsonCodec) ContentType(any) string { return "application/json" }

// requestBody is a body that has been read, and what was found wrong with it.
type requestBody struct {
	bytes.Reader
	err error
}

func newRequestBody(data []byte) *requestBody {
	body := &requestBody{}
	body.Reset(data)
	return body
}

// Close implements io.Closer.
func (*requestBody) Close() error { return nil }

// decodeJSON reads a message from JSON, as strict as it can be: no unknown or
// repeated fields, nothing behind the end. No bytes at all are an empty message.
func decodeJSON(data []byte, message proto.Message) *jsonError {
	if len(bytes.TrimSpace(data)) == 0 {
		proto.Reset(message)
		return nil
	}
	if bytes.Count(data, []byte("{")) > maxParts || bytes.Count(data, []byte(",")) > maxParts {
		return &jsonError{problem: fmt.Sprintf("has more than %d braces or commas, and no request needs as many", maxParts)}
	}
	err := protojson.UnmarshalOptions{RecursionLimit: maxJSONDepth}.Unmarshal(data, message)
	if err == nil {
		return nil
	}
	return explainJSON(err, data, message.ProtoReflect().Descriptor())
}

// jsonError is why JSON was refused.
type jsonError struct {
	// line and column are where, from 1; 0 if that is not known.
	line, column int
	// path names the field at fault; empty if the JSON itself is malformed.
	path string
	// problem says what is wrong, and what would be right.
	problem string
}

// inBody words the error for a body.
func (e *jsonError) inBody() *service.Problem {
	where := ""
	if e.line > 0 {
		where = fmt.Sprintf(" (line %d, column %d)", e.line, e.column)
	}
	if e.path == "" {
		return malformed(fmt.Sprintf("the body %s%s", e.problem, where))
	}
	return invalid(fmt.Sprintf("%s: %s%s", e.path, e.problem, where), service.Violation{Field: e.path, Description: e.problem})
}
