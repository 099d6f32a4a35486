import { formatAmount } from '../../domain/units.ts'
import { instantText, type Observed, type Observers, seconds, type Tellers } from './observers.ts'

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

  'begun-anew'({ type, detail }, { log }) {
    log.warn(`began afresh at an operator's word: ${detail}`, { event: type })
  },

  'loss-accepted'({ type, detail }, { log }) {
    log.warn(`went on at an operator's word although records are lost: ${detail}`, { event: type })
  },

  pause(event, to) {
    const { type, strategy, paused, cause, detail } = event
    const what = strategy ?? 'everything'
    const fields = { event: type, strategy, paused, cause, detail }
    if (strategy === undefined) to.metrics.halted.set(paused ? 1 : 0)
    else to.metrics.paused.set({ strategy }, paused ? 1 : 0)
    if (!paused) {
      const told = detail === 'resumed' ? '' : `: ${detail}`
      to.log.info(`resumed ${what}${told}`, fields)
      return
    }
    const text = strategy === undefined ? `halted ${what}: ${detail}` : `paused ${what}: ${detail}`
    to.log.warn(text, fields)
    const named = strategy === undefined ? {} : { strategy }
    to.notify({ event: 'halted', text, ...named, details: { cause, detail } })
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
    const { type, strategy, nextSlotSeconds, lastFillAtMs, paused } = event
    const next = nextSlotSeconds === undefined ? 'never' : instantText(nextSlotSeconds)
    log.debug(`scheduled ${strategy}, next slot ${next}`, {
      event: type,
      strategy,
      nextSlotSeconds,
    })
    const { nextSlot, lastFill } = metrics
    metrics.paused.set({ strategy }, paused ? 1 : 0)
    if (nextSlotSeconds === undefined) nextSlot.remove({ strategy })
    else nextSlot.set({ strategy }, nextSlotSeconds)
    if (lastFillAtMs !== undefined) lastFill.set({ strategy }, lastFillAtMs / 1_000)
  },

  /** What did not add up: an alarm where it was to, and told where the file gives it up. */
  'program-ended'(event, to) {
    const { type, strategy, slotSeconds, token, rule } = event
    const [unsold, total] = [event.unsold, event.total].map((amount) =>
      formatAmount(amount, token.decimals),
    )
    const then =
      rule === 'drop'
        ? 'which `unsold: drop` gives up'
        : `and no slice is left; \`tranched trigger ${strategy}\` sells it now`
    const text = `${strategy} is over: ${unsold} of ${total} ${token.symbol} are not sold, ${then}`
    const details = { slotSeconds, token: token.symbol, unsold: `${unsold}`, total: `${total}` }
    to.log.warn(text, { event: type, strategy, ...details, rule })
    if (rule === 'spread') to.notify({ event: 'failed', text, strategy, details })
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
  'slot-closed'(event, to) {
    const { type, strategy, lastSeconds: slotSeconds, outcome, reason, detail } = event
    const count = event.count ?? 1
    const fields = { event: type, strategy, slotSeconds, outcome, reason, detail, count }
    const text = slotClosedText(event)
    if (outcome === 'filled') to.log.debug(text, fields)
    else if (outcome === 'skipped') to.log.info(text, fields)
    else to.log.warn(text, fields)
    to.metrics.slots.inc({ strategy, outcome }, count)
    if (outcome === 'skipped') to.metrics.skips.inc({ strategy, reason }, count)
    to.metrics.slotWaiting.set({ strategy }, 0)
    for (const alarm of alarmsOf(event))
      to.notify({ event: alarm, text, strategy, details: { slotSeconds, reason, count } })
  },
} satisfies Partial<Tellers>

function alarmsOf({
  outcome,
  reason,
}: Observed<'slot-closed'>): readonly Parameters<Observers['notify']>[0]['event'][] {
  if (outcome === 'missed') return ['missed']
  if (reason === 'halted') return ['halted']
  return outcome === 'skipped' && reason === 'insufficient-balance' ? ['low-funds'] : []
}

function slotClosedText(event: Observed<'slot-closed'>): string {
  const { strategy, slotSeconds, lastSeconds, outcome, reason, detail, count } = event
  const why = reason === outcome ? '' : ` (${reason})`
  const first = instantText(slotSeconds)
  const which =
    count === 1 ? first : `${count ?? 'many'} slots from ${first} to ${instantText(lastSeconds)}`
  return `${outcome} ${strategy} ${which}${why}${detail === undefined ? '' : `: ${detail}`}`
}
