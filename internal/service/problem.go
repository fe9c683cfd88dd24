package service

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// ErrorDomain is the domain of every ErrorInfo that the service sends.
const ErrorDomain = "avalanched"

// Problem is an error as clients see it: a google.rpc.Status with ErrorInfo and, as
// far as they apply, BadRequest and RetryInfo (AIP-193). gRPC finds the status by
// itself; the gateway writes the same as JSON.
type Problem struct {
	Code   codes.Code
	Reason avalanchev1.ErrorReason_Reason
	// Message says what is wrong and what would be right, in plain words.
	Message string
	// Metadata repeats the parts of the message that vary, for programs.
	Metadata map[string]string
	// Violations name the fields at fault.
	Violations []Violation
	// RetryAfter tells when another try makes sense; 0 says nothing of it.
	RetryAfter time.Duration
}

// Violation is one field at fault.
type Violation struct {
	// Field is a path in the request's JSON names, such as "drops[3].color".
	Field       string
	Description string
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// GRPCStatus lets the grpc package find the status. Equal problems have equal bytes.
func (p *Problem) GRPCStatus() *status.Status {
	message := &spb.Status{Code: int32(p.Code), Message: p.Message}
	for _, detail := range p.details() {
		packed := &anypb.Any{}
		if err := anypb.MarshalFrom(packed, detail, proto.MarshalOptions{Deterministic: true}); err != nil {
			continue // Only a text that is not UTF-8 cannot be encoded; the rest still helps.
		}
		message.Details = append(message.Details, packed)
	}
	return status.FromProto(message)
}

func (p *Problem) details() []proto.Message {
	details := []proto.Message{&errdetails.ErrorInfo{
		Reason:   p.Reason.String(),
		Domain:   ErrorDomain,
		Metadata: p.Metadata,
	}}
	if len(p.Violations) > 0 {
		badRequest := &errdetails.BadRequest{}
		for _, v := range p.Violations {
			badRequest.FieldViolations = append(badRequest.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Description})
		}
		details = append(details, badRequest)
	}
	if p.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(p.RetryAfter)})
	}
	return details
}
