import { afterEach, expect, onTestFinished, test } from 'vitest'
import type { AggregatorSettings } from '../../src/domain/settings.ts'
import { takeSlot } from '../../src/engine/slot.ts'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import type { Aggregator, Key } from '../../src/ports.ts'
import { executeIntent } from '../../src/venues/execute-intent.ts'
import { followRecorded } from '../../src/venues/wallet/transaction.ts'
import { QUIET } from '../support/aggregator/aggregator.ts'
import {
  aggregatorSettingsOf,
  callContext,
  callsSeen,
  delegatedKey,
  keyOf,
  memoOf,
  openLines,
  recordStrategy,
  WALL_CLOCK,
} from '../support/aggregator/call-venue.ts'
import { inheritJournal, Mortal } from '../support/process/mortal.ts'
import { sandboxForSuite } from '../support/sandbox.ts'
import { collect, openForTest, temporaryDirectory } from '../support/state/state-directory.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
afterEach(() => sandbox().faults.set({}))

/** Step at which the second process dies as well. */
const SECOND_DEATH_AT = 3
const AT_ONCE = 6

type KillCase = {
  readonly name: string
  readonly settings: Partial<AggregatorSettings>
  readonly faults: readonly object[]
  /** True if the service refuses everything. */
  readonly isRefused?: boolean
  readonly via: readonly ('aggregated' | 'direct')[]
  readonly stepsMin: number
}

const SOON = { mode: 'after-deadline', deadlineMs: 60_100 } as const
const KILL_CASES: readonly KillCase[] = [
  {
    name: 'a call that the service includes',
    settings: {},
    faults: [],
    via: ['aggregated'],
    stepsMin: 13,
  },
  {
    name: 'a trusted call that the service includes',
    settings: { proposer: 'trusted', fallback: SOON },
    faults: [],
    via: ['aggregated'],
    stepsMin: 13,
  },
  {
    name: 'a call that the service never includes',
    settings: { fallback: SOON },
    faults: [{ kind: 'neverIncluded' }],
    via: ['direct'],
    stepsMin: 18,
  },
  {
    name: 'a call that the service refuses',
    settings: { fallback: SOON },
    faults: [],
    isRefused: true,
    via: ['direct'],
    stepsMin: 18,
  },
  {
    name: 'a call that the service includes about when it is sent directly',
    settings: { fallback: SOON },
    faults: [{ kind: 'lateInclusion', delayMs: 150 }, { kind: 'includedTwice' }],
    via: ['aggregated', 'direct'],
    stepsMin: 13,
  },
]

type ProcessRun = {
  readonly killCase: KillCase
  readonly label: string
  readonly signer: Key
  readonly dir: string
  readonly mortal: Mortal
}

/** Runs one process from its start until it has nothing left to do, or dies. */
async function runProcess({
  killCase,
  label,
  signer,
  dir,
  mortal,
}: ProcessRun): Promise<'ended' | 'died'> {
  const lines = openLines(sandbox(), signer)
  onTestFinished(async () => {
    await Promise.all([lines.service.close(), lines.chain.close()])
  })
  const opened = await openForTest(dir, { clock: WALL_CLOCK })
  const journal = mortal.journal(opened.journal)
  const strategy = recordStrategy(sandbox(), label)
  const context = callContext({
    key: signer,
    lines: {
      service: mortal.service(
        killCase.isRefused === true ? refusing(lines.service) : lines.service,
      ),
      chain: mortal.chain(lines.chain),
    },
    journal,
    settings: aggregatorSettingsOf(sandbox(), killCase.settings),
    strategies: [strategy],
  })
  const slotSeconds = Math.floor(Date.now() / 1000)
  const work = async (): Promise<'ended'> => {
    const { state } = journal
    if (!state.strategies.has(label))
      await journal.append({
        type: 'strategy-scheduled',
        strategy: label,
        scheduleKey: 'test',
        fromSeconds: 0,
      })
    // The slot is taken once; a later process finds it on record and continues.
    if (state.strategies.get(label)?.lastSlotSeconds === 0)
      await takeSlot({ context, strategy, slotSeconds, view: undefined, nowMs: Date.now() })
    await followRecorded(context, context.wallet)
    for (const id of state.intents.keys()) await executeIntent(context, id)
    // As a daemon that ends: the last records are on disk.
    await journal.append()
    return 'ended'
  }
  return Promise.race([work(), mortal.died])
}

function refusing(service: Aggregator): Aggregator {
  const fault = { tag: 'rejected', message: 'not today' } as const
  return { ...service, sendRawTransaction: () => Promise.resolve({ ok: false, fault }) }
}

type End = {
  readonly label: string
  readonly deaths: number
  readonly steps: number
  readonly events: readonly JournalEvent[]
}

/** Runs processes through the given deaths until one reaches its end. */
async function runToEnd(
  killCase: KillCase,
  { label, signer }: { readonly label: string; readonly signer: Key },
  deathsAt: readonly number[],
): Promise<End> {
  let dir = temporaryDirectory()
  let deaths = 0
  for (const diesAt of [...deathsAt, undefined]) {
    const mortal = new Mortal(diesAt)
    const how = await runProcess({ killCase, label, signer, dir, mortal })
    const successorDir = inheritJournal(dir)
    if (how === 'ended') {
      const { journal } = await openForTest(successorDir, { clock: WALL_CLOCK })
      const records = await collect(journal.records())
      return { label, deaths, steps: mortal.steps, events: records.map(({ event }) => event) }
    }
    deaths += 1
    dir = successorDir
  }
  throw new Error('the last life has no death')
}

test.each(KILL_CASES)(
  '$name is executed once and recorded when its process dies at any step',
  async (killCase) => {
    const newSigner = async (): Promise<Key> => {
      sandbox().faults.set({})
      return keyOf(await delegatedKey(sandbox(), killCase.settings.proposer))
    }
    const prefix = `case-${KILL_CASES.indexOf(killCase)}`
    const calm = { label: `${prefix}-calm`, signer: await newSigner() }
    sandbox().faults.set({ rules: killCase.faults })
    const whole = await runToEnd(killCase, calm, [])
    expect(whole.steps).toBeGreaterThanOrEqual(killCase.stepsMin)

    const points: { readonly label: string; readonly signer: Key; readonly step: number }[] = []
    for (let step = 1; step <= whole.steps; step += 1)
      points.push({ label: `${prefix}-dies-at-${step}`, signer: await newSigner(), step })
    sandbox().faults.set({ rules: killCase.faults })
    const ends: End[] = [whole]
    const waiting = [...points]
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        ends.push(await runToEnd(killCase, next, [next.step, SECOND_DEATH_AT]))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))

    const seen = await callsSeen(sandbox())
    for (const { label, events } of ends) {
      const executions = seen.filter(({ memo }) => memo === memoOf(label))
      expect([label, executions.length]).toEqual([label, 1])
      const proofs = events.flatMap((event) => (event.type === 'call-proven' ? [event] : []))
      expect([label, proofs.length]).toEqual([label, 1])
      expect(proofs[0]?.execution.txHash).toBe(executions[0]?.txHash)
      expect(killCase.via).toContain(proofs[0]?.execution.via)
      const closings = events.flatMap((event) =>
        event.type === 'intent-closed' || event.type === 'slot-closed' ? [event.outcome] : [],
      )
      expect([label, closings]).toEqual([label, ['filled', 'filled']])
    }
    // On a busy machine the service is polled less often, so a process may end before the step of its death.
    const diedTwice = ends.filter(({ deaths }) => deaths > 1)
    expect(diedTwice.length).toBeGreaterThan(whole.steps / 2)
  },
)
