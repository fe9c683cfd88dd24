package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	_ "google.golang.org/genproto/googleapis/rpc/errdetails" // The details of errors in JSON.
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
)

// The retry policy of a well-behaved client: only what is UNAVAILABLE is tried again,
// with the same request, and waits that double up to a second.
const (
	maxTries  = 40
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

// player plays one game after another on nothing but the state.
type player struct {
	grpc     *grpc.ClientConn // nil for a player over HTTP
	http     *http.Client
	httpURL  string
	tally    *tally
	chance   engine.Seeded
	rulesets []engine.Ruleset
}

func newPlayer(s *system, t *tally, overGRPC bool, seed uint64) (*player, error) {
	p := &player{
		http:     &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second},
		httpURL:  "http://" + s.httpBalancer.addr(),
		tally:    t,
		chance:   engine.Seeded(seed),
		rulesets: rulesets.Registry().All(),
	}
	if !overGRPC {
		return p, nil
	}
	var err error
	p.grpc, err = grpc.NewClient(s.grpcBalancer.addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return p, err
}

func (p *player) close() {
	p.http.CloseIdleConnections()
	if p.grpc != nil {
		_ = p.grpc.Close()
	}
}

func (p *player) choose(n int) int {
	p.chance = p.chance.Next()
	return p.chance.Draw("soak", 0, n)
}

// playGame plays a game of any ruleset to its end and audits its record.
func (p *player) playGame(ctx context.Context) error {
	info := p.rulesets[p.choose(len(p.rulesets))].Info()
	players := info.MinPlayers + p.choose(info.MaxPlayers-info.MinPlayers+1)
	var created avalanchev1.CreateGameResponse
	err := p.call(ctx, "CreateGame", "/v1/games", &avalanchev1.CreateGameRequest{
		Ruleset: info.ID, Players: int32(players),
	}, &created)
	if err != nil {
		return fmt.Errorf("%s: create: %w", info.ID, err)
	}
	var record []*avalanchev1.Move
	state, game := created.GetState(), created.GetGame()
	for game.GetStatus() == avalanchev1.Game_IN_PROGRESS {
		legal := game.GetLegalMoves()
		move := &avalanchev1.Move{Kind: &avalanchev1.Move_Notation{Notation: legal[p.choose(len(legal))].GetNotation()}}
		var applied avalanchev1.ApplyMoveResponse
		err := p.call(ctx, "ApplyMove", "/v1/games:applyMove", &avalanchev1.ApplyMoveRequest{State: state, Move: move}, &applied)
		if err != nil {
			return fmt.Errorf("%s, %s, move %s: %w", info.ID, game.GetPosition(), move.GetNotation(), err)
		}
		if applied.GetGame().GetPly() != game.GetPly()+1 {
			return fmt.Errorf("%s: ply %d follows ply %d", info.ID, applied.GetGame().GetPly(), game.GetPly())
		}
		record = append(record, move)
		state, game = applied.GetState(), applied.GetGame()
	}
	var replay avalanchev1.ReplayGameResponse
	err = p.call(ctx, "ReplayGame", "/v1/games:replay", &avalanchev1.ReplayGameRequest{
		FirstState: created.GetState(), Moves: record, LastState: state, PageSize: 1,
	}, &replay)
	if err != nil {
		return fmt.Errorf("%s: audit: %w", info.ID, err)
	}
	p.tally.game(info.ID, len(record))
	return nil
}

// call makes a call and repeats it as the retry policy allows.
func (p *player) call(ctx context.Context, rpc, path string, request, response proto.Message) error {
	wait := firstWait
	for try := 1; ; try++ {
		err := p.callOnce(ctx, rpc, path, request, response)
		if status.Code(err) != codes.Unavailable || try == maxTries || ctx.Err() != nil {
			return err
		}
		p.tally.retried(try)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, lastWait)
	}
}

func (p *player) callOnce(ctx context.Context, rpc, path string, request, response proto.Message) error {
	if p.grpc != nil {
		return p.grpc.Invoke(ctx, "/"+avalanchev1.GameService_ServiceDesc.ServiceName+"/"+rpc, request, response)
	}
	body, err := protojson.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, p.httpURL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	answer, err := p.http.Do(post)
	if err != nil {
		// The connection broke. The same request may be sent again: it gives the same
		// state, whether the first one was carried out or not.
		return status.Error(codes.Unavailable, err.Error())
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	if answer.StatusCode != http.StatusOK {
		var s spb.Status
		if err := protojson.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("HTTP %d with %q", answer.StatusCode, strings.TrimSpace(string(data)))
		}
		return status.ErrorProto(&s)
	}
	proto.Reset(response)
	return protojson.Unmarshal(data, response)
}
