import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { strangerText } from '../domain/text/nearest.ts'
import { makesCalls, type Strategy } from '../strategies/registry.ts'
import { hearServiceClock, trustedNow } from '../venues/chain-requests.ts'
import { haltedNow } from '../venues/close.ts'
import type { OrderContext } from '../venues/context.ts'
import { heldNow, termsOfPrices } from './limits/hold.ts'
import { marketOf, wantedBy } from './market-snapshot.ts'
import type { PendingRequests } from './pending-requests.ts'
import { comparedHead, readMarket } from './read-market.ts'
import { headOf, headsOf } from './registration.ts'
import type { Taken } from './slot.ts'
import { isEntered, type Upcoming } from './upcoming.ts'

type Triggering = { readonly done: Promise<Triggered> }

export type Triggered =
  | (Taken & { readonly ok: true; readonly slotSeconds: SlotSeconds })
  | { readonly ok: false; readonly detail: string }

export async function trigger(
  agenda: {
    readonly context: OrderContext
    readonly upcoming: Upcoming
    readonly pendingRequests: PendingRequests
  },
  name: string,
): Promise<Triggering> {
  const { context, upcoming, pendingRequests } = agenda
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
  // A fast clock would use up every slot until its time.
  const serviceOffsetMs = isCall ? undefined : gasless.clockOffsetMs()
  const time = trustedNow(context, { blockTimeSeconds: head, serviceOffsetMs })
  if (!time.ok) return refused(time.detail)
  const nowMs = clock.now()
  const record = journal.state.strategies.get(name)
  if (!isEntered(record, strategy))
    return refused(`the slots of ${name} do not count yet: its clocks disagree`)
  // The strategy may have been registered during the read, and owe older slots.
  if (!pendingRequests.has(name)) upcoming.refresh(strategy)
  // The next second if this one is already taken.
  const slotSeconds = Math.max(Math.floor(nowMs / 1000), record.lastSlotSeconds + 1)
  const owedSlot = upcoming.nextOf(name)
  const isAhead = slotSeconds * 1000 - nowMs > 1_000
  const isOwed = owedSlot !== undefined && owedSlot <= slotSeconds
  if (isOwed && slotSeconds - owedSlot > 1)
    return refused(`a slot of ${name} waits already: \`tranched plan\` says what for`)
  if (isAhead || isOwed || pendingRequests.has(name))
    return refused(`${name} has a slot of its own at this very moment`)
  const taken = pendingRequests.take({ context, strategy, slotSeconds, view, nowMs })
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

/** Why the trigger would decide nothing (halt, pause or pending approval), and the remedy. */
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
