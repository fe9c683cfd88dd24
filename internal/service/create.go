package service

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/state"
)

// CreateGame implements the GameService.
func (s *Service) CreateGame(ctx context.Context, request *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
	ruleset, err := s.ruleset(request.GetRuleset())
	if err != nil {
		return nil, err
	}
	info := ruleset.Info()
	setup, err := setupOf(request, info)
	if err != nil {
		return nil, err
	}
	if err := checkRequestID(request); err != nil {
		return nil, err
	}
	key := s.keys().Primary()
	first := state.State{
		Ruleset:        info.Number,
		RulesetVersion: info.Version,
		CustomStart:    setup.Custom(),
		SealedSeats:    request.GetOptions().GetSealedSeats(),
		Ledgered:       s.ledger != nil,
	}
	parameters := parametersOf(tenantOf(ctx), request, info, setup, first)
	if first.GameID, err = s.newGameID(key, request.GetRequestId(), parameters); err != nil {
		return nil, err
	}
	position, events, err := ruleset.Start(setup, key.StartChance(first, parameters...))
	if err != nil {
		return nil, setupProblem(err, info.Family)
	}
	first.Position = position.AppendPacked(nil)
	token, err := key.Sign(first, request.GetContext())
	if err != nil {
		return nil, err
	}
	game := openGame{Game: engine.Game{Ruleset: ruleset, Position: position}, state: first, key: key}
	response := &avalanchev1.CreateGameResponse{
		State:  token,
		Game:   gameMessage(game),
		Events: eventMessages(events),
	}
	if first.SealedSeats {
		for seat := range position.Players() {
			response.SeatKeys = append(response.SeatKeys, key.SeatKey(first, seat+1))
		}
		response.HostKey = key.HostKey(first)
	}
	s.observer.GameCreated(ctx, info.ID)
	return response, nil
}

func (s *Service) newGameID(key *state.Key, requestID string, parameters [][]byte) (state.GameID, error) {
	if requestID == "" {
		return state.NewGameID(s.random)
	}
	return key.GameID(append(parameters, []byte(requestID))...), nil
}

// setupOf translates the options. Options of another family are refused.
func setupOf(request *avalanchev1.CreateGameRequest, info engine.Info) (engine.Setup, error) {
	options := request.GetOptions()
	setup := engine.Setup{Players: int(request.GetPlayers()), Position: options.GetPosition()}
	var family engine.Family
	switch chosen := options.GetFamily().(type) {
	case *avalanchev1.GameOptions_Marble:
		family = engine.Marble
		setup.Board = chosen.Marble.GetBoard()
		setup.Rows = int(chosen.Marble.GetRows())
		setup.HouseRules = chosen.Marble.GetHouseRules()
	case *avalanchev1.GameOptions_Mancala:
		family = engine.Mancala
		setup.Stones = int(chosen.Mancala.GetStones())
		setup.HouseRules = chosen.Mancala.GetHouseRules()
	}
	if family != 0 && family != info.Family {
		field := map[engine.Family]string{engine.Marble: "options.marble", engine.Mancala: "options.mancala"}[family]
		return engine.Setup{}, &Problem{
			Code: codes.InvalidArgument, Reason: avalanchev1.ErrorReason_OPTION_UNSUPPORTED,
			Message:    info.ID + " has no options of this kind: leave " + field + " out",
			Violations: []Violation{{Field: field, Description: "is for games of another kind than " + info.ID}},
		}
	}
	// The order in which house rules are given means nothing.
	setup.HouseRules = slices.Sorted(slices.Values(setup.HouseRules))
	return setup, nil
}

// checkRequestID holds sealed games to an unguessable request id: whoever can repeat the
// creation gets the keys of all seats.
func checkRequestID(request *avalanchev1.CreateGameRequest) error {
	id := request.GetRequestId()
	if !request.GetOptions().GetSealedSeats() || id == "" {
		return nil
	}
	parsed, err := uuid.Parse(id)
	if err == nil && parsed.Version() == 4 && parsed.Variant() == uuid.RFC4122 && parsed.String() == strings.ToLower(id) {
		return nil
	}
	return &Problem{
		Code: codes.InvalidArgument, Reason: avalanchev1.ErrorReason_REQUEST_INVALID,
		Message: "with sealed seats the request id must be a random UUID (version 4), made anew for each game and kept as secret as the seat keys, " +
			"for whoever knows it can create the game again; or leave it out",
		Violations: []Violation{{Field: "requestId", Description: "must be a UUID of version 4"}},
	}
}

// parametersOf lists, in a fixed order, all that makes two creations the same but the
// request id.
func parametersOf(tenant string, request *avalanchev1.CreateGameRequest, info engine.Info, setup engine.Setup, first state.State) [][]byte {
	parameters := []string{
		tenant,
		info.ID,
		strconv.Itoa(info.Version),
		strconv.Itoa(setup.Players),
		setup.Position,
		setup.Board,
		strconv.Itoa(setup.Rows),
		strconv.Itoa(setup.Stones),
		strings.Join(setup.HouseRules, ","),
		strconv.FormatBool(first.SealedSeats),
		strconv.FormatBool(first.Ledgered),
		request.GetContext(),
	}
	parts := make([][]byte, len(parameters))
	for i, parameter := range parameters {
		parts[i] = []byte(parameter)
	}
	return parts
}
