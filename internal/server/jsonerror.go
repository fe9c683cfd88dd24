package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// decodeErrorText takes an error of the protojson package apart. Its text is all
// that the package gives, and begins with one of two kinds of blank.
var decodeErrorText = regexp.MustCompile(`(?s)^proto:[ \x{00a0}](syntax error )?\(line (\d+):(\d+)\): (.*)$`)

// explainJSON says in plain words why the protojson package refused data. Values
// are not repeated: they may be long, and secret.
func explainJSON(err error, data []byte, message protoreflect.MessageDescriptor) *jsonError {
	parts := decodeErrorText.FindStringSubmatch(err.Error())
	if parts == nil {
		switch {
		case strings.Contains(err.Error(), "recursion"):
			return &jsonError{problem: "is nested too deep"}
		case json.Valid(data):
			// A lone surrogate near the end looks to the package like an end of data.
			return &jsonError{problem: "is no valid JSON: a string has an invalid escape"}
		default:
			return &jsonError{problem: "is no complete JSON: it ends too early"}
		}
	}
	line, _ := strconv.Atoi(parts[2])
	column, _ := strconv.Atoi(parts[3])
	wrong := &jsonError{line: line, column: column}
	text := parts[4]
	wrongType := strings.HasPrefix(text, "unexpected token") && json.Valid(data)
	if parts[1] != "" && !wrongType {
		wrong.problem = "is no valid JSON: " + explainSyntax(text)
		return wrong
	}

	path := jsonPathAt(data, offsetOf(data, line, column))
	if len(path) == 0 {
		wrong.problem = "must be a JSON object"
		return wrong
	}
	wrong.path = path.String()
	parent, field := path.resolve(message)
	switch {
	case strings.HasPrefix(text, "unknown field"):
		wrong.problem = "there is no such field; " + knownFields(parent, nil)
	case strings.HasPrefix(text, "duplicate field"):
		wrong.problem = "the field is given twice"
	case field == nil:
		wrong.problem = "the field cannot be read"
	case strings.HasPrefix(text, "error parsing"):
		wrong.problem = "only one of " + strings.Join(oneofFields(field), ", ") + " may be given"
	default:
		wrong.problem = "must be " + expected(field, path[len(path)-1].isIndex)
	}
	return wrong
}

func explainSyntax(text string) string {
	switch {
	case strings.HasPrefix(text, "invalid UTF-8"):
		return "a string is not UTF-8"
	case strings.HasPrefix(text, "invalid escape"):
		return "a string has an invalid escape"
	case strings.HasPrefix(text, "invalid character"):
		return "a string has a character that must be escaped"
	case strings.Contains(text, `missing ":"`):
		return `":" is missing after a field's name`
	default:
		return "something else is expected here"
	}
}

// offsetOf finds the byte at a line and column, both counted from 1, columns in
// runes.
func offsetOf(data []byte, line, column int) int64 {
	offset := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(data[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	for ; column > 1 && offset < len(data); column-- {
		_, size := utf8.DecodeRune(data[offset:])
		offset += size
	}
	return int64(offset)
}

// jsonPath leads from the root of a JSON value to one inside it.
type jsonPath []jsonStep

// jsonStep is the name of an object's field or the index of an array's element.
type jsonStep struct {
	name    string
	index   int
	isIndex bool
}

// String writes the path as "moves[3].drop.color".
func (p jsonPath) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case step.isIndex:
			fmt.Fprintf(&b, "[%d]", step.index)
		case i > 0:
			b.WriteString("." + clip(step.name))
		default:
			b.WriteString(clip(step.name))
		}
	}
	return b.String()
}

// clip shortens a name that a client has made up.
func clip(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// jsonPathAt finds the value, or the field's name, that starts at an offset.
// Everything before it must be valid JSON.
func jsonPathAt(data []byte, offset int64) jsonPath {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	// path leads to the value that the next token starts, with an open end inside
	// of an object whose next name has not been read.
	var path jsonPath
	var named []bool // For each open object or array: whether its step is complete.
	for {
		token, err := decoder.Token()
		if err != nil {
			return path
		}
		inObject := len(path) > 0 && !path[len(path)-1].isIndex
		if name, ok := token.(string); ok && inObject && !named[len(named)-1] {
			path[len(path)-1].name = name
			named[len(named)-1] = true
			if decoder.InputOffset() > offset {
				return path
			}
			continue
		}
		if decoder.InputOffset() > offset {
			return path
		}
		switch token {
		case json.Delim('{'):
			path, named = append(path, jsonStep{}), append(named, false)
			continue
		case json.Delim('['):
			path, named = append(path, jsonStep{isIndex: true}), append(named, true)
			continue
		case json.Delim('}'), json.Delim(']'):
			path, named = path[:len(path)-1], named[:len(named)-1]
		}
		// A value has ended: go on to the next.
		if len(path) > 0 {
			last := &path[len(path)-1]
			if last.isIndex {
				last.index++
			} else {
				named[len(named)-1] = false
			}
		}
	}
}

// resolve follows a path through a message's fields. It returns the message that
// the last name belongs to, and the field of that name, as far as there are any.
func (p jsonPath) resolve(message protoreflect.MessageDescriptor) (parent protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) {
	parent = message
	for _, step := range p {
		if step.isIndex {
			continue
		}
		if field != nil {
			parent = field.Message()
		}
		if parent == nil {
			return nil, nil
		}
		if field = fieldNamed(parent, step.name); field == nil {
			return parent, nil
		}
	}
	return parent, field
}

// fieldNamed finds a field by the name that it has in JSON or in the proto file.
func fieldNamed(message protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if field := message.Fields().ByJSONName(name); field != nil {
		return field
	}
	return message.Fields().ByTextName(name)
}

// knownFields lists the fields of a message, without those that have a value elsewhere.
func knownFields(message protoreflect.MessageDescriptor, elsewhere map[string]string) string {
	var names []string
	for i := 0; message != nil && i < message.Fields().Len(); i++ {
		field := message.Fields().Get(i)
		if _, ok := elsewhere[string(field.Name())]; !ok {
			names = append(names, field.JSONName())
		}
	}
	if len(names) == 0 {
		return "none are known here"
	}
	return "known are " + strings.Join(names, ", ")
}

func oneofFields(field protoreflect.FieldDescriptor) []string {
	var names []string
	if oneof := field.ContainingOneof(); oneof != nil {
		for i := range oneof.Fields().Len() {
			names = append(names, oneof.Fields().Get(i).JSONName())
		}
	}
	return names
}

// expected describes the values that a field takes, or one element of a list.
func expected(field protoreflect.FieldDescriptor, element bool) string {
	if field.IsList() && !element {
		return "an array"
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.MessageKind:
		return "an object"
	case protoreflect.Int32Kind:
		return fmt.Sprintf("a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	case protoreflect.EnumKind:
		var names []string
		values := field.Enum().Values()
		for i := range values.Len() {
			if values.Get(i).Number() != 0 {
				names = append(names, string(values.Get(i).Name()))
			}
		}
		return "one of " + strings.Join(names, ", ")
	default:
		return "a value of type " + field.Kind().String()
	}
}
