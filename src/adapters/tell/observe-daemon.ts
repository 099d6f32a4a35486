import { type Observed, type Observers, seconds } from './observers.ts'

/** Ready to trade. */
export function daemonStarted(event: Observed<'daemon-started'>, to: Observers): void {
  const { log, metrics } = to
  const { mode, owner, strategies, openIntents, halted } = event
  metrics.halted.set(halted === undefined ? 0 : 1)
  if (halted !== undefined)
    log.warn(`halted since ${new Date(halted.atMs).toISOString()}: ${halted.detail}`, {
      event: 'pause',
      cause: halted.cause,
    })
  const pending = openIntents === 0 ? '' : `, ${openIntents} open intents to resolve`
  log.info(
    `started in ${mode} mode: ${strategies === 1 ? '1 strategy' : `${strategies} strategies`}, wallet ${owner}${pending}`,
    {
      event: event.type,
      mode,
      owner,
      strategies,
      openIntents,
    },
  )
}

/** No new slots; open orders are drained. */
export function daemonStopping(event: Observed<'daemon-stopping'>, { log }: Observers): void {
  const { cause, openIntents } = event
  log.info(`stopping (${cause}), ${openIntents} open intents`, {
    event: event.type,
    cause,
    openIntents,
  })
}

/** Drained, or out of time. */
export function daemonStopped(event: Observed<'daemon-stopped'>, { log }: Observers): void {
  const { openIntents } = event
  const fields = { event: event.type, openIntents }
  if (openIntents === 0) log.info('stopped, nothing left open', fields)
  else log.warn(`stopped with ${openIntents} open intents; the next start resolves them`, fields)
}

/** Something stopped trading, or goes on. */
export function pause(event: Observed<'pause'>, to: Observers): void {
  const { strategy, paused, cause, detail } = event
  const what = strategy ?? 'everything'
  const fields = { event: event.type, strategy, paused, cause, detail }
  if (strategy === undefined) to.metrics.halted.set(paused ? 1 : 0)
  else to.metrics.paused.set({ strategy }, paused ? 1 : 0)
  if (!paused) {
    to.log.info(`resumed ${what}`, fields)
    return
  }
  const text = strategy === undefined ? `halted everything: ${detail}` : `paused ${what}: ${detail}`
  to.log.warn(text, fields)
  const named = strategy === undefined ? {} : { strategy }
  to.notify({ event: 'halted', text, ...named, details: { cause, detail } })
}

/** The slots of a strategy count from here on. */
export function strategyScheduled(event: Observed<'strategy-scheduled'>, to: Observers): void {
  const { strategy, nextSlotSeconds, lastFillAtMs, paused } = event
  to.log.debug(`scheduled ${strategy}, next slot ${slotText(nextSlotSeconds)}`, {
    event: event.type,
    strategy,
    nextSlotSeconds,
  })
  const { nextSlot, lastFill } = to.metrics
  to.metrics.paused.set({ strategy }, paused ? 1 : 0)
  if (nextSlotSeconds === undefined) nextSlot.remove({ strategy })
  else nextSlot.set({ strategy }, nextSlotSeconds)
  if (lastFillAtMs !== undefined) lastFill.set({ strategy }, lastFillAtMs / 1_000)
}

/** A slot was decided. */
export function slotOpened(event: Observed<'slot-opened'>, { log, metrics }: Observers): void {
  const { strategy, slotSeconds, latenessMs, intents } = event
  log.info(
    `opened ${strategy} ${slotText(slotSeconds)}: ${intents === 1 ? '1 intent' : `${intents} intents`}`,
    {
      event: event.type,
      strategy,
      slotSeconds,
      latenessMs,
      intents,
    },
  )
  metrics.slotLateness.observe(seconds(latenessMs))
}

/** A slot, or a run of missed ones, has its outcome. */
export function slotClosed(event: Observed<'slot-closed'>, to: Observers): void {
  const { strategy, slotSeconds, outcome, reason, detail, count } = event
  const fields = {
    event: event.type,
    strategy,
    slotSeconds,
    outcome,
    reason,
    detail,
    count,
  }
  const message = slotClosedText(event)
  if (outcome === 'filled') to.log.debug(message, fields)
  else if (outcome === 'skipped') to.log.info(message, fields)
  else to.log.warn(message, fields)
  to.metrics.slots.inc({ strategy, outcome }, count)
  const notice = { text: message, strategy, details: { slotSeconds, reason, count } }
  if (outcome === 'missed') to.notify({ event: 'missed', ...notice })
  if (reason === 'halted') to.notify({ event: 'halted', ...notice })
  if (outcome === 'skipped' && reason === 'insufficient-balance')
    to.notify({ event: 'low-funds', ...notice })
}

function slotClosedText(event: Observed<'slot-closed'>): string {
  const { strategy, slotSeconds, outcome, reason, detail, count } = event
  const why = reason === outcome ? '' : ` (${reason})`
  const which = count > 1 ? `${count} slots from ${slotText(slotSeconds)}` : slotText(slotSeconds)
  return `${outcome} ${strategy} ${which}${why}${detail === undefined ? '' : `: ${detail}`}`
}

function slotText(slotSeconds: number | undefined): string {
  return slotSeconds === undefined ? 'never' : new Date(slotSeconds * 1_000).toISOString()
}
