-- Records a move of one game and answers how it found the game. The rule is that of
-- decide in memory.go; Ledger.Advance describes it.
--
-- KEYS[1]  the game's key; its value is the head: its ply, a space, its token
-- ARGV[1]  the presented state, in the same form
-- ARGV[2]  the next state, in the same form
-- ARGV[3]  '1' in a strict ledger
-- ARGV[4]  the TTL in milliseconds
local key, presented, next, strict, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]

local function ply(state)
  return tonumber(string.match(state, '^(%d+) .'))
end

local function store(outcome)
  redis.call('SET', key, next, 'PX', ttl)
  return outcome
end

local head = redis.call('GET', key)
if head == presented or (not head and ply(presented) == 0) then
  return store('advanced')
end
if head == next then
  return 'repeated'
end
if head then
  if not ply(head) then
    return redis.error_reply('ERR the value at this key is no ledger entry')
  end
  if ply(presented) <= ply(head) then
    return 'superseded ' .. head
  end
end
if strict then
  return 'forgotten'
end
return store('adopted')
