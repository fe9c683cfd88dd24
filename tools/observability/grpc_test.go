package observability

import (
	"context"
	"encoding/json"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// grpcTrace is the trace of a client over gRPC.
const grpcTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

// callOverGRPC asks for a game with its secrets. It learns the API by reflection, as
// this module does not depend on the product's.
func (d *daemon) callOverGRPC(t *testing.T, secrets map[string]string) {
	t.Helper()
	conn, err := grpc.NewClient(d.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	method := describeService(t, conn, "avalanche.v1.GameService").Methods().ByName("InspectGame")
	body, err := json.Marshal(map[string]string{
		"state": secrets["state"], "context": secrets["context"], "seatKey": secrets["host key"],
	})
	if err != nil {
		t.Fatal(err)
	}
	request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := protojson.Unmarshal(body, request); err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(),
		"traceparent", "00-"+grpcTrace+"-"+clientSpan+"-01",
		"authorization", "Bearer "+secrets["API key"])
	if err := conn.Invoke(ctx, "/avalanche.v1.GameService/InspectGame", request, response); err != nil {
		t.Fatal(err)
	}
}

func describeService(t *testing.T, conn *grpc.ClientConn, name string) protoreflect.ServiceDescriptor {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := &grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	reply, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, data := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(data, file); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		t.Fatalf("%s is a %T", name, found)
	}
	return service
}
