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

/** The second life of every process ends early too. */
const SECOND_DEATH_AT = 3
const AT_ONCE = 6

type Story = {
  readonly name: string
  readonly settings: Partial<AggregatorSettings>
  readonly faults: readonly object[]
  /** The service says no to everything. */
  readonly isRefused?: boolean
  readonly via: readonly ('aggregated' | 'direct')[]
  readonly stepsMin: number
}

const SOON = { mode: 'after-deadline', deadlineMs: 60_100 } as const
const STORIES: readonly Story[] = [
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

type Life = {
  readonly story: Story
  readonly label: string
  readonly signer: Key
  readonly dir: string
  readonly mortal: Mortal
}

/** One process from its start until it has nothing left to do, or dies. */
async function live({ story, label, signer, dir, mortal }: Life): Promise<'ended' | 'died'> {
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
      service: mortal.service(story.isRefused === true ? refusing(lines.service) : lines.service),
      chain: mortal.chain(lines.chain),
    },
    journal,
    settings: aggregatorSettingsOf(sandbox(), story.settings),
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
    // The slot is taken once; a process that finds it on record carries on from there.
    if (state.strategies.get(label)?.lastSlotSeconds === 0)
      await takeSlot({ context, strategy, slotSeconds, view: undefined, nowMs: Date.now() })
    await followRecorded(context, context.wallet)
    for (const id of state.intents.keys()) await executeIntent(context, id)
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

/** Lives on through the given deaths until a process gets to its end. */
async function survive(
  story: Story,
  { label, signer }: { readonly label: string; readonly signer: Key },
  deathsAt: readonly number[],
): Promise<End> {
  let dir = temporaryDirectory()
  let deaths = 0
  for (const diesAt of [...deathsAt, undefined]) {
    const mortal = new Mortal(diesAt)
    const how = await live({ story, label, signer, dir, mortal })
    const heir = inheritJournal(dir)
    if (how === 'ended') {
      const { journal } = await openForTest(heir, { clock: WALL_CLOCK })
      const records = await collect(journal.records())
      return { label, deaths, steps: mortal.steps, events: records.map(({ event }) => event) }
    }
    deaths += 1
    dir = heir
  }
  throw new Error('the last life has no death')
}

test.each(STORIES)(
  '$name is executed once and recorded wherever its process dies',
  async (story) => {
    const newSigner = async (): Promise<Key> => {
      sandbox().faults.set({})
      return keyOf(await delegatedKey(sandbox(), story.settings.proposer))
    }
    const prefix = `story-${STORIES.indexOf(story)}`
    const calm = { label: `${prefix}-calm`, signer: await newSigner() }
    sandbox().faults.set({ rules: story.faults })
    const whole = await survive(story, calm, [])
    expect(whole.steps).toBeGreaterThanOrEqual(story.stepsMin)

    const points: { readonly label: string; readonly signer: Key; readonly step: number }[] = []
    for (let step = 1; step <= whole.steps; step += 1)
      points.push({ label: `${prefix}-dies-at-${step}`, signer: await newSigner(), step })
    sandbox().faults.set({ rules: story.faults })
    const ends: End[] = [whole]
    const waiting = [...points]
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        ends.push(await survive(story, next, [next.step, SECOND_DEATH_AT]))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))

    const seen = await callsSeen(sandbox())
    for (const { label, events } of ends) {
      const executions = seen.filter(({ memo }) => memo === memoOf(label))
      expect([label, executions.length]).toEqual([label, 1])
      const proofs = events.flatMap((event) => (event.type === 'call-proven' ? [event] : []))
      expect([label, proofs.length]).toEqual([label, 1])
      expect(proofs[0]?.execution.txHash).toBe(executions[0]?.txHash)
      expect(story.via).toContain(proofs[0]?.execution.via)
      const closings = events.flatMap((event) =>
        event.type === 'intent-closed' || event.type === 'slot-closed' ? [event.outcome] : [],
      )
      expect([label, closings]).toEqual([label, ['filled', 'filled']])
    }
    // On a busy machine the service is asked less often: a life may end before the step at which it was to die.
    const diedTwice = ends.filter(({ deaths }) => deaths > 1)
    expect(diedTwice.length).toBeGreaterThan(whole.steps / 2)
  },
)
