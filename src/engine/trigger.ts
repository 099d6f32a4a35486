import { strangerText } from '../domain/nearest.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { makesCalls, type Strategy } from '../domain/strategy.ts'
import { hearServiceClock, trustedNow } from '../execute/ask.ts'
import { haltedNow } from '../execute/close.ts'
import type { OrderContext } from '../execute/context.ts'
import type { Asking } from './asking.ts'
import { headOf, headsOf } from './enrolment.ts'
import { heldNow, termsOfPrices } from './hold.ts'
import { comparedHead, readMarket } from './market.ts'
import type { Taken } from './slot.ts'
import { isEntered, type Upcoming } from './upcoming.ts'
import { marketOf, wantedBy } from './view.ts'

export type Triggering = { readonly done: Promise<Triggered> }

export type Triggered =
  | (Taken & { readonly ok: true; readonly slotSeconds: SlotSeconds })
  | { readonly ok: false; readonly detail: string }

/** Opens a slot outside the schedule, by the market as it is now; see `Agenda.trigger`. */
export async function trigger(
  agenda: {
    readonly context: OrderContext
    readonly upcoming: Upcoming
    readonly asking: Asking
  },
  name: string,
): Promise<Triggering> {
  const { context, upcoming, asking } = agenda
  const refused = (detail: string): Triggering => ({ done: Promise.resolve({ ok: false, detail }) })
  const { clock, gasless, journal } = context.ports
  const strategy = upcoming.strategies.find((each) => each.name === name)
  if (strategy === undefined) return refused(notEnabledText(context, upcoming, name))
  const stopped = stoppedText(context, strategy)
  if (stopped !== undefined) return refused(stopped)
  const isCall = makesCalls(strategy)
  const view = await readMarket(context, marketOf(wantedBy([strategy]), context.pricePath))
  const calls = isCall ? await comparedHead(context) : undefined
  if (!isCall) await hearServiceClock(context)
  const head = headOf(headsOf(context, { swaps: view?.blockTimeSeconds, calls }), strategy)
  if (context.closing.aborted) return refused('the daemon is stopping')
  if (head === undefined) return refused('the market could not be read')
  // By a clock that runs ahead it would use up every slot until then.
  const serviceOffsetMs = isCall ? undefined : gasless.clockOffsetMs()
  const time = trustedNow(context, { blockTimeSeconds: head, serviceOffsetMs })
  if (!time.ok) return refused(time.detail)
  const nowMs = clock.now()
  const record = journal.state.strategies.get(name)
  if (!isEntered(record, strategy))
    return refused(`the slots of ${name} do not count yet: its clocks disagree`)
  // It may have been entered while the market was read, and owe slots that are older.
  if (!asking.has(name)) upcoming.refresh(strategy)
  // The second after one that is accounted for, where both are this one.
  const slotSeconds = Math.max(Math.floor(nowMs / 1000), record.lastSlotSeconds + 1)
  const owedSlot = upcoming.nextOf(name)
  const isAhead = slotSeconds * 1000 - nowMs > 1_000
  const isOwed = owedSlot !== undefined && owedSlot <= slotSeconds
  if (isOwed && slotSeconds - owedSlot > 1)
    return refused(`a slot of ${name} waits already: \`tranched plan\` says what for`)
  if (isAhead || isOwed || asking.has(name))
    return refused(`${name} has a slot of its own at this very moment`)
  const taken = asking.take({ context, strategy, slotSeconds, view, nowMs })
  return { done: taken.then((slot) => ({ ok: true, slotSeconds, ...slot })) }
}

function notEnabledText({ ports }: OrderContext, { strategies }: Upcoming, name: string): string {
  return ports.journal.state.strategies.has(name)
    ? `no enabled strategy is called ${name}: its file is gone, or says enabled: false`
    : strangerText(
        name,
        strategies.map((each) => each.name),
      )
}

/** Why nothing would be decided: a halt, a pause or an approval that is due, and what ends it. */
function stoppedText(context: OrderContext, strategy: Strategy): string | undefined {
  const { name } = strategy
  const { pricePath, ports } = context
  const { journal, modules } = ports
  const halted = haltedNow(context)
  if (halted !== undefined)
    return `everything is halted (${halted.detail}): \`tranched resume\` lifts it`
  const paused = journal.state.strategies.get(name)?.paused
  if (paused !== undefined)
    return `${name} is paused (${paused.detail}): \`tranched resume ${name}\` ends it`
  const terms = termsOfPrices(strategy, modules.versionOf, pricePath)
  const held = heldNow(journal.state, strategy, terms)
  if (held === undefined) return undefined
  return `${name} waits for your approval (${held.detail}): \`tranched approve ${name}\` gives it`
}
