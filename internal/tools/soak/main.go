// Soak plays games against three daemons behind a plain TCP balancer, while the daemons
// restart one by one, the keyset rotates and Redis restarts. It fails if a game is lost,
// if a record does not replay, or if a call fails beyond the retry policy.
//
//	go run ./internal/tools/soak -duration 2m
//
// It needs redis-server, and builds the daemon itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	duration := flag.Duration("duration", 2*time.Minute, "how long to begin new games")
	clients := flag.Int("clients", 8, "players at once, half of them over gRPC and half over HTTP")
	pause := flag.Duration("pause", 4*time.Second, "time between two disturbances")
	seed := flag.Uint64("seed", 1, "seed of the players' choices")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tally, err := soak(ctx, *duration, *clients, *pause, *seed)
	if tally != nil {
		_, _ = io.WriteString(os.Stdout, tally.table())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak runs players and disturbances side by side. Players finish the games that they
// have begun.
func soak(ctx context.Context, duration time.Duration, clients int, pause time.Duration, seed uint64) (*tally, error) {
	system, err := startSystem(ctx)
	if err != nil {
		return nil, err
	}
	defer system.close()

	tally := newTally()
	playing, endNewGames := context.WithTimeout(ctx, duration)
	defer endNewGames()
	var players sync.WaitGroup
	for i := range clients {
		players.Go(func() {
			player, err := newPlayer(system, tally, i%2 == 0, seed+uint64(i))
			if err != nil {
				tally.fail(err)
				return
			}
			defer player.close()
			for playing.Err() == nil && !tally.failed() {
				if err := player.playGame(ctx); err != nil {
					tally.fail(err)
				}
			}
		})
	}
	disturbed := make(chan error, 1)
	disturbing, endDisturbance := context.WithCancel(ctx)
	defer endDisturbance()
	go func() { disturbed <- system.disturb(disturbing, tally, pause) }()
	players.Wait()
	endDisturbance()
	if err := <-disturbed; err != nil {
		return tally, err
	}
	if tally.games == 0 {
		return tally, errors.New("not one game was finished: let it run for longer")
	}
	return tally, tally.firstError()
}
