import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRandom } from '../../src/domain/random.ts'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import type { Aggregator, Journal, Key } from '../../src/ports.ts'
import type { CallRecord } from '../../src/sandbox/aggregator/rpc/admin-routes.ts'
import { executeIntent } from '../../src/venues/execute-intent.ts'
import { QUIET, sepoliaClient } from '../support/aggregator/aggregator.ts'
import {
  aggregatorSettingsOf,
  callContext,
  callsSeen,
  delegatedKey,
  keyOf,
  memoOf,
  nestedNonceOf,
  openLines,
  recordIntent,
  recordStrategy,
  type SeenCall,
  WALL_CLOCK,
} from '../support/aggregator/call-venue.ts'
import { admin, sandboxForSuite } from '../support/sandbox.ts'
import { collect, openForTest, temporaryDirectory } from '../support/state/state-directory.ts'

const ACCOUNTS = 25
/** More races for a longer search: CALL_RACES=40. */
const RACES_PER_ACCOUNT = Number(process.env['CALL_RACES'] ?? 6)
const FIRST_SLOT = 1_800_000_000
const GIVEN_UP_AFTER_MS = 120_000

const sandbox = sandboxForSuite({ aggregator: QUIET })

/** Parameters of a race, derived from its seed. */
type Race = {
  readonly seed: string
  /** Silence after which the daemon sends the call itself. */
  readonly deadlineMs: number
  /** Inclusion by the service relative to that moment, ms. */
  readonly inclusionAfterMs: number
  readonly isIncludedTwice: boolean
  /** Part of the first submission that is lost: nothing, the reply, or the request. */
  readonly lost: 'nothing' | 'reply' | 'request'
}

/** One submission in five is lost in part. */
const LOSSES: readonly Race['lost'][] = [
  ...Array.from({ length: 16 }, () => 'nothing' as const),
  ...(['reply', 'reply', 'reply', 'request'] as const),
]

function raceOf(seed: string): Race {
  const random = createRandom(seed)
  return {
    seed,
    deadlineMs: random.between(150, 400),
    inclusionAfterMs: random.between(-120, 120),
    isIncludedTwice: random.chance(0.15),
    lost: LOSSES[random.between(0, LOSSES.length - 1)] ?? 'nothing',
  }
}

type Lap = { readonly race: Race; readonly recordedAtMs: () => number; submissions: number }

/** Serialises submissions, because the sandbox applies one list of faults to all. */
function createSubmissions() {
  let last: Promise<unknown> = Promise.resolve()
  return (service: Aggregator, lapOf: () => Lap): Aggregator => ({
    ...service,
    sendRawTransaction(raw) {
      const reply = last.then(async () => {
        sandbox().faults.set({ rules: rulesOf(lapOf()) })
        const answer = await service.sendRawTransaction(raw)
        sandbox().faults.set({})
        return answer
      })
      last = reply
      return reply
    },
  })
}

function rulesOf(lap: Lap): readonly object[] {
  const { race, recordedAtMs } = lap
  const dueAtMs = recordedAtMs() + race.deadlineMs + race.inclusionAfterMs
  const delayMs = Math.max(0, Math.round(dueAtMs - Date.now()))
  const rules: object[] = [{ kind: 'lateInclusion', delayMs }]
  if (race.isIncludedTwice) rules.push({ kind: 'includedTwice' })
  lap.submissions += 1
  if (lap.submissions > 1 || race.lost === 'nothing') return rules
  const kind = race.lost === 'reply' ? 'dropAfter' : 'dropBefore'
  return [...rules, { kind, route: 'sendRawTransaction' }]
}

type Finish = { readonly race: Race; readonly events: readonly JournalEvent[] }

/** Runs all races of one account, one after the other. */
async function runAccount(
  { name, signer }: { readonly name: string; readonly signer: Key },
  submissions: ReturnType<typeof createSubmissions>,
): Promise<readonly Finish[]> {
  const lines = openLines(sandbox(), signer)
  onTestFinished(() =>
    Promise.all([lines.service.close(), lines.chain.close()]).then(() => undefined),
  )
  const { journal } = await openForTest(temporaryDirectory(), { clock: WALL_CLOCK })
  const strategy = recordStrategy(sandbox(), name)
  await journal.append({
    type: 'strategy-scheduled',
    strategy: name,
    scheduleKey: 'test',
    fromSeconds: FIRST_SLOT - 1,
  })
  const races: Race[] = []
  for (let number = 0; number < RACES_PER_ACCOUNT; number += 1) {
    const race = raceOf(`${name} ${number}`)
    races.push(race)
    const slotSeconds = FIRST_SLOT + number
    const intent = recordIntent(strategy, { owner: signer.address, slotSeconds, label: race.seed })
    await journal.append({ type: 'slot-opened', strategy: name, slotSeconds, intents: [intent] })
    const recordedAtMs = (): number =>
      journal.state.exposures.get(`${intent.id}:1`)?.atMs ?? Date.now()
    const lap: Lap = { race, recordedAtMs, submissions: 0 }
    const context = callContext({
      key: signer,
      lines: { ...lines, service: submissions(lines.service, () => lap) },
      journal,
      settings: aggregatorSettingsOf(sandbox(), {
        fallback: { mode: 'after-deadline', deadlineMs: 60_000 + race.deadlineMs },
      }),
      strategies: [strategy],
    })
    await inTime(executeIntent(context, intent.id), race, journal)
  }
  const records = await collect(journal.records())
  return races.map((race, number) => {
    const id = `${name}:${FIRST_SLOT + number}:0`
    const own = ({ event }: (typeof records)[number]): boolean =>
      'intentId' in event && event.intentId === id
    return { race, events: records.filter(own).map(({ event }) => event) }
  })
}

async function inTime(work: Promise<void>, race: Race, journal: Journal): Promise<void> {
  const timeUp = new AbortController()
  const late = pause(GIVEN_UP_AFTER_MS, undefined, { signal: timeUp.signal }).then(() => {
    const states = [...journal.state.intents.values()].map(({ state }) => state)
    throw new Error(`race ${JSON.stringify(race)} does not end: ${states.join()}`)
  })
  late.catch(() => undefined)
  await Promise.race([work, late])
  timeUp.abort()
}

type Route = 'aggregated' | 'direct'

/** Problems of a finished race, and its route according to the chain. */
async function verify(
  { race, events }: Finish,
  executions: readonly SeenCall[],
): Promise<{ readonly problems: readonly string[]; readonly via: Route | undefined }> {
  const problems: string[] = []
  const fail = (what: string): number => problems.push(`${JSON.stringify(race)}: ${what}`)
  const [execution] = executions
  if (executions.length !== 1) fail(`executed ${executions.length} times`)
  const outcomes = events.map((event) => event.type === 'intent-closed' && event.outcome)
  if (!outcomes.includes('filled')) fail('not filled')
  const proofs = events.flatMap((event) => (event.type === 'call-proven' ? [event.execution] : []))
  const [proof] = proofs
  if (proofs.length !== 1) fail(`${proofs.length} proofs`)
  if (proof === undefined || execution === undefined) return { problems, via: undefined }
  const { txHash } = execution
  const { from } = await sepoliaClient(sandbox()).getTransaction({ hash: txHash })
  const via = from.toLowerCase() === execution.caller ? 'direct' : 'aggregated'
  if (proof.txHash !== txHash) fail(`executed in ${txHash}, the journal says ${proof.txHash}`)
  if (proof.via !== via) fail(`it went ${via}, the journal says ${proof.via}`)
  return { problems, via }
}

test('races of late inclusion against the direct fallback execute every call exactly once', async () => {
  const submissions = createSubmissions()
  const racers: { readonly name: string; readonly signer: Key }[] = []
  while (racers.length < ACCOUNTS) {
    const signer = keyOf(await delegatedKey(sandbox()))
    racers.push({ name: `racer-${racers.length}`, signer })
  }
  const finishes = (await Promise.all(racers.map((racer) => runAccount(racer, submissions)))).flat()

  const owners = new Set(racers.map(({ signer }) => signer.address))
  const seen = (await callsSeen(sandbox())).filter(({ caller }) => owners.has(caller))
  const problems: string[] = []
  const wins = { aggregated: 0, direct: 0 }
  for (const finish of finishes) {
    const own = memoOf(finish.race.seed)
    const executions = seen.filter(({ memo }) => memo === own)
    const verdict = await verify(finish, executions)
    problems.push(...verdict.problems)
    if (verdict.via !== undefined) wins[verdict.via] += 1
  }
  expect(problems).toEqual([])
  expect(seen).toHaveLength(ACCOUNTS * RACES_PER_ACCOUNT)
  for (const { signer } of racers)
    expect(await nestedNonceOf(sandbox(), signer.address)).toBe(BigInt(RACES_PER_ACCOUNT))
  expect(wins.aggregated).toBeGreaterThan(0)
  expect(wins.direct).toBeGreaterThan(0)

  const records: readonly CallRecord[] = (await admin(sandbox(), 'GET', '/aggregator/calls')).body
  const landed = records.filter(({ route, state }) => route === 'aggregated' && state === 'landed')
  const batches = new Set(landed.map(({ batchedTransactionHash }) => batchedTransactionHash))
  expect(batches.size).toBeLessThan(landed.length)
  expect(landed.filter(({ repeatedIn }) => repeatedIn.length > 0).length).toBeGreaterThan(0)
})
