package service

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/mancala"
	"github.com/avalanched/avalanched/internal/engine/marble"
)

// ListRulesets implements the GameService.
func (s *Service) ListRulesets(_ context.Context, request *avalanchev1.ListRulesetsRequest) (*avalanchev1.ListRulesetsResponse, error) {
	all := s.rulesets.All()
	size := int(request.GetPageSize())
	if size == 0 {
		size = len(all)
	}
	from, to, next, err := page(request.GetPageToken(), size, len(all))
	if err != nil {
		return nil, err
	}
	response := &avalanchev1.ListRulesetsResponse{NextPageToken: next}
	for _, ruleset := range all[from:to] {
		response.Rulesets = append(response.Rulesets, rulesetMessage(ruleset))
	}
	return response, nil
}

// page finds the part of a list that a page token stands for: the place where the page
// begins, in decimal.
func page(token string, size, length int) (from, to int, next string, err error) {
	if token != "" {
		from, err = strconv.Atoi(token)
		if err != nil || from < 1 || from >= length || strconv.Itoa(from) != token {
			return 0, 0, "", &Problem{
				Code: codes.InvalidArgument, Reason: avalanchev1.ErrorReason_REQUEST_INVALID,
				Message:    "the page token is not one that the page before returned",
				Violations: []Violation{{Field: "pageToken", Description: "must be the nextPageToken of the page before"}},
			}
		}
	}
	to = min(from+size, length)
	if to < length {
		next = strconv.Itoa(to)
	}
	return from, to, next, nil
}

// GetRuleset implements the GameService.
func (s *Service) GetRuleset(_ context.Context, request *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
	ruleset, err := s.ruleset(request.GetRuleset())
	if err != nil {
		return nil, err
	}
	current := ruleset.Info().Version
	if version := int(request.GetVersion()); version != 0 && version != current {
		return nil, &Problem{
			Code: codes.NotFound, Reason: avalanchev1.ErrorReason_RULESET_UNKNOWN,
			Message:    request.GetRuleset() + " has no version " + strconv.Itoa(version) + " here; it has version " + strconv.Itoa(current),
			Metadata:   map[string]string{"ruleset": request.GetRuleset(), "version": strconv.Itoa(current)},
			Violations: []Violation{{Field: "version", Description: "must be 0 or " + strconv.Itoa(current)}},
		}
	}
	message := rulesetMessage(ruleset)
	if parameters := message.GetShiverPeak(); parameters != nil {
		parameters.Deck = deckMessage()
	}
	return &avalanchev1.GetRulesetResponse{Ruleset: message}, nil
}

// ruleset finds a ruleset by its name in a request.
func (s *Service) ruleset(id string) (engine.Ruleset, error) {
	if ruleset, ok := s.rulesets.ByID(id); ok {
		return ruleset, nil
	}
	var ids []string
	for _, ruleset := range s.rulesets.All() {
		ids = append(ids, ruleset.Info().ID)
	}
	known := strings.Join(ids, ", ")
	return nil, &Problem{
		Code: codes.NotFound, Reason: avalanchev1.ErrorReason_RULESET_UNKNOWN,
		Message:    "there is no such ruleset; there are " + known,
		Metadata:   map[string]string{"rulesets": known},
		Violations: []Violation{{Field: "ruleset", Description: "must be one of " + known}},
	}
}

func rulesetMessage(ruleset engine.Ruleset) *avalanchev1.Ruleset {
	info := ruleset.Info()
	message := &avalanchev1.Ruleset{
		Ruleset:       info.ID,
		Version:       int32(info.Version),
		Family:        avalanchev1.Ruleset_Family(info.Family),
		Title:         info.Title,
		Edition:       info.Edition,
		MinPlayers:    int32(info.MinPlayers),
		MaxPlayers:    int32(info.MaxPlayers),
		HowToPlay:     info.HowToPlay,
		Source:        info.Source,
		Decisions:     slices.Clone(info.Decisions),
		ChanceInMoves: info.ChanceInMoves,
	}
	for _, rule := range info.HouseRules {
		message.HouseRules = append(message.HouseRules, &avalanchev1.HouseRule{HouseRule: rule.ID, Summary: rule.Summary})
	}
	switch ruleset := ruleset.(type) {
	case *marble.Variant:
		message.Parameters = marbleParameters(ruleset)
	case *mancala.Ruleset:
		message.Parameters = mancalaParameters(ruleset)
	default:
		if info.Family == engine.ShiverPeak {
			message.Parameters = shiverPeakParameters()
		}
	}
	return message
}
