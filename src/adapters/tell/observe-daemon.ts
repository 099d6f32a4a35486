import { etherWords } from '../../domain/book/costs.ts'
import type { Outcome } from '../../domain/intent.ts'
import { formatAmount } from '../../domain/units.ts'
import { instantText, seconds, type Tellers } from './observers.ts'
import { holdSentence, pauseSentence, programSentence, slotSentence } from './sentences.ts'

/** The daemon, its strategies and their slots. */
export const DAEMON = {
  'daemon-started'(event, { log, metrics }) {
    const { type, mode, owner, strategies, openIntents, halted } = event
    metrics.halted.set(halted === undefined ? 0 : 1)
    if (halted !== undefined)
      log.warn(`halted since ${instantText(halted.atMs / 1_000)}: ${halted.detail}`, {
        event: 'pause',
        cause: halted.cause,
      })
    const pending = openIntents === 0 ? '' : `, ${openIntents} open intents to resolve`
    log.info(
      `started in ${mode} mode: ${strategies === 1 ? '1 strategy' : `${strategies} strategies`}, wallet ${owner}${pending}`,
      { event: type, mode, owner, strategies, openIntents },
    )
  },

  'daemon-stopping'({ type, cause, openIntents }, { log }) {
    const fields = { event: type, cause, openIntents }
    log.info(`stopping (${cause}), ${openIntents} open intents`, fields)
  },

  /** Drained, or out of time. */
  'daemon-stopped'({ type, openIntents }, { log }) {
    const fields = { event: type, openIntents }
    if (openIntents === 0) log.info('stopped, nothing left open', fields)
    else log.warn(`stopped with ${openIntents} open intents; the next start resolves them`, fields)
  },

  bound({ type, mode, chainId, owner }, { log }) {
    const fields = { event: type, mode, chainId, owner }
    log.debug(`state bound to ${mode} mode, chain ${chainId} and wallet ${owner}`, fields)
  },

  'state-named'({ type, stateId }, { log }) {
    log.debug(`the state is ${stateId} from now on`, { event: type, stateId })
  },

  anchored({ type, wallet, chainId }, { log }) {
    const fields = { event: type, wallet, chainId }
    log.info(`the state is anchored outside its directory for wallet ${wallet}`, fields)
  },

  'wallet-compared'({ type, wallet, chainId, blockNumber }, { log }) {
    log.debug(`the journal of wallet ${wallet} was held against chain ${chainId}`, {
      ...{ event: type, wallet, chainId },
      blockNumber: `${blockNumber}`,
    })
  },

  'delegation-signed'({ type, account, delegate }, { log }) {
    log.info(`a delegation of ${account} to ${delegate} is signed`, {
      ...{ event: type, account, delegate },
    })
  },

  'delegation-charged'({ type, account, charged }, { log }) {
    log.info(`the service charged ${etherWords(charged)} for the delegation of ${account}`, {
      ...{ event: type, account, charged: `${charged}` },
    })
  },

  'begun-anew'({ type, detail }, { log }) {
    log.warn(`began afresh at an operator's word: ${detail}`, { event: type })
  },

  'loss-accepted'({ type, detail }, { log }) {
    log.warn(`went on at an operator's word although records are lost: ${detail}`, { event: type })
  },

  pause(event, { log, metrics }) {
    const { type, strategy, paused, cause, detail } = event
    if (strategy === undefined) metrics.halted.set(paused ? 1 : 0)
    else metrics.paused.set({ strategy }, paused ? 1 : 0)
    log[paused ? 'warn' : 'info'](pauseSentence(event).text, {
      ...{ event: type, strategy, paused, cause, detail },
    })
  },

  hold(event, { log, metrics }) {
    const { type, strategy, held, detail } = event
    metrics.held.set({ strategy }, held ? 1 : 0)
    log[held ? 'warn' : 'info'](holdSentence(event).text, { event: type, strategy, held, detail })
  },

  implausible({ type, strategy, detail }, { log }) {
    log.warn(`${strategy} looks like a mistake: ${detail}`, { event: type, strategy, detail })
  },

  'files-stale'({ type, files, detail }, { log, metrics }) {
    metrics.strategiesStale.set(files)
    if (files > 0)
      log.error(`files not reloaded, the old ones keep running:\n${detail}`, { event: type, files })
  },

  'strategy-scheduled'({ type, strategy, fromSeconds }, { log }) {
    const fields = { event: type, strategy, fromSeconds }
    log.debug(`slots of ${strategy} count from ${instantText(fromSeconds)} on`, fields)
  },

  'next-slot'(event, { log, metrics }) {
    const { type, strategy, nextSlotSeconds, lastFillAtMs, paused, held } = event
    const next = nextSlotSeconds === undefined ? 'never' : instantText(nextSlotSeconds)
    log.debug(`scheduled ${strategy}, next slot ${next}`, {
      event: type,
      strategy,
      nextSlotSeconds,
    })
    const { nextSlot, lastFill } = metrics
    metrics.paused.set({ strategy }, paused ? 1 : 0)
    metrics.held.set({ strategy }, held ? 1 : 0)
    if (nextSlotSeconds === undefined) nextSlot.remove({ strategy })
    else nextSlot.set({ strategy }, nextSlotSeconds)
    if (lastFillAtMs !== undefined) lastFill.set({ strategy }, lastFillAtMs / 1_000)
  },

  /** What did not add up. */
  'program-ended'(event, { log }) {
    const { type, strategy, rule } = event
    const { text, details } = programSentence(event)
    log.warn(text, { event: type, strategy, ...details, rule })
  },

  unsold({ strategy, token, amount, decimals }, { metrics }) {
    metrics.unsold.set({ strategy, token }, Number(formatAmount(amount, decimals)))
  },

  /** Told once in a while: it is looked at every few seconds. */
  'slot-waiting'({ type, strategy, slotSeconds, reason, detail }, { log, metrics }, { isNews }) {
    metrics.slotWaiting.set({ strategy }, 1)
    const level = isNews(`waiting ${strategy}:${slotSeconds}`) ? 'info' : 'debug'
    const text = `${strategy} ${instantText(slotSeconds)} waits (${reason}): ${detail}`
    log[level](text, { event: type, strategy, slotSeconds, reason, detail })
  },

  'slot-opened'({ type, strategy, slotSeconds, latenessMs, intents }, { log, metrics }) {
    const fields = { event: type, strategy, slotSeconds, latenessMs, intents }
    const many = intents === 1 ? '1 intent' : `${intents} intents`
    log.info(`opened ${strategy} ${instantText(slotSeconds)}: ${many}`, fields)
    metrics.slotLateness.observe(seconds(latenessMs))
    metrics.slotWaiting.set({ strategy }, 0)
  },

  /** A slot, or a run of missed ones, has its outcome. Such a run goes by its last slot. */
  'slot-closed'(event, { log, metrics }) {
    const { type, strategy, lastSeconds: slotSeconds, outcome, reason, detail } = event
    const count = event.count ?? 1
    const fields = { event: type, strategy, slotSeconds, outcome, reason, detail, count }
    log[SLOT_LEVELS[outcome] ?? 'warn'](slotSentence(event).text, fields)
    metrics.slots.inc({ strategy, outcome }, count)
    if (outcome === 'skipped') metrics.skips.inc({ strategy, reason }, count)
    metrics.slotWaiting.set({ strategy }, 0)
  },
} satisfies Partial<Tellers>

/** Of what is told by its order, or is no trouble. */
const SLOT_LEVELS: Partial<Record<Outcome, 'debug' | 'info'>> = {
  filled: 'debug',
  skipped: 'info',
}
