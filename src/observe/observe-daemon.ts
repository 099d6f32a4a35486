import type { RemoteOutcome } from '../domain/remote.ts'
import type { Mode } from '../domain/settings.ts'
import { instantText, wholeTokens } from '../journal/wording/log-values.ts'
import { notification } from '../journal/wording/notice.ts'
import { said, sentence } from '../journal/wording/text.ts'
import type { LogLevel } from './log.ts'
import type { Handlers } from './observers.ts'

const FILES_TOPIC = 'files'

export const DAEMON = {
  'daemon-started': {
    observe(event, { log, metrics }) {
      const { type, mode, owner, strategies, openIntents, halted } = event
      metrics.halted.set(halted === undefined ? 0 : 1)
      if (halted !== undefined) {
        const since = instantText(halted.atMs / 1_000)
        log.warn(`halted since ${since}: ${halted.detail}`, { event: 'pause', cause: halted.cause })
      }
      const pending = openIntents === 0 ? '' : `, ${openOrders(openIntents)} to resolve`
      const text = `started in ${mode} mode: ${manyStrategies(strategies)}, wallet ${owner}${pending}`
      log.info(text, { event: type, mode, owner, strategies, openIntents })
    },
    notify({ mode, owner, strategies, openIntents, halted }) {
      const lines = [`Mode ${mode}, wallet ${owner}.`]
      if (openIntents > 0)
        lines.push(`Open orders: ${openIntents}. They are followed to their end.`)
      if (halted !== undefined) lines.push('It is still halted: `tranched resume` lifts the halt.')
      const subject = `The daemon is running, with ${manyStrategies(strategies)}`
      return notification('started', subject, lines)
    },
    // A start reads all files, and accepts all or none.
    ends: () => [FILES_TOPIC],
  },

  'daemon-stopping'({ type, cause, openIntents }, { log }) {
    const fields = { event: type, cause, openIntents }
    log.info(`stopping (${cause}), ${openOrders(openIntents)}`, fields)
  },

  /** Drained, or out of time. */
  'daemon-stopped': {
    observe({ type, openIntents, mode }, { log }) {
      const fields = { event: type, openIntents }
      if (openIntents === 0) log.info('stopped, nothing left open', fields)
      else log.warn(`stopped with ${openOrders(openIntents)}; ${fateText(mode)}`, fields)
    },
    notify: ({ openIntents, mode }) =>
      notification('stopped', 'The daemon has stopped', [
        openIntents === 0
          ? 'Nothing was left open. Nothing is traded until it runs again.'
          : `Open orders: ${openIntents}. What is signed may still execute; ${fateText(mode)}. Nothing else is traded until then.`,
      ]),
  },

  implausible: ({ type, strategy, detail }, { log }) =>
    log.warn(`${strategy} looks like a mistake: ${detail}`, { event: type, strategy, detail }),

  'files-stale': {
    observe({ type, files, detail }, { log, metrics }) {
      metrics.strategiesStale.set(files)
      const text = `files not reloaded, the old ones keep running:\n${detail}`
      if (files > 0) log.error(text, { event: type, files })
    },
    notify({ files, detail }) {
      if (files === 0) return undefined
      const lines = [
        ...placesIn(detail),
        'The earlier files stay in force. `tranched validate` shows what is wrong; save the file again to load it.',
      ]
      const many = files === 1 ? 'A changed file was' : `${files} changed files were`
      const over = 'All files are in force again'
      return notification('files-refused', `${many} refused`, lines, { topic: FILES_TOPIC, over })
    },
    ends: ({ files }) => (files === 0 ? [FILES_TOPIC] : []),
  },

  'next-slot'(event, { log, metrics }) {
    const { type, strategy, nextSlotSeconds, lastFillAtMs, paused, held } = event
    const next = nextSlotSeconds === undefined ? 'never' : instantText(nextSlotSeconds)
    const fields = { event: type, strategy, nextSlotSeconds }
    log.debug(`scheduled ${strategy}, next slot ${next}`, fields)
    const { nextSlot, lastFill } = metrics
    metrics.paused.set({ strategy }, paused ? 1 : 0)
    metrics.held.set({ strategy }, held ? 1 : 0)
    if (nextSlotSeconds === undefined) nextSlot.remove({ strategy })
    else nextSlot.set({ strategy }, nextSlotSeconds)
    if (lastFillAtMs !== undefined) lastFill.set({ strategy }, lastFillAtMs / 1_000)
  },

  unsold: ({ strategy, token, amount, decimals }, { metrics }) =>
    metrics.unsold.set({ strategy, token }, wholeTokens(amount, { decimals })),

  /** Logged at most once a minute: the slot is checked every few seconds. */
  'slot-waiting'({ type, strategy, slotSeconds, reason, detail }, { log, metrics }, { isNews }) {
    metrics.slotWaiting.set({ strategy }, 1)
    const level = isNews(`waiting ${strategy}:${slotSeconds}`) ? 'info' : 'debug'
    const text = `${strategy} ${instantText(slotSeconds)} waits (${reason}): ${detail}`
    log[level](text, { event: type, strategy, slotSeconds, reason, detail })
  },
} satisfies Partial<Handlers>

function openOrders(count: number): string {
  return count === 1 ? '1 open order' : `${count} open orders`
}

/** What becomes of open orders after a stop: an embedded sandbox's chain ends with its daemon. */
function fateText(mode: Mode): string {
  return mode === 'sandbox'
    ? 'the sandbox ends with its chains, and the next start begins new ones'
    : 'the next start resolves what is open'
}

function manyStrategies(count: number): string {
  return count === 1 ? '1 strategy' : `${count} strategies`
}

const PLACE = /^\S+:\d+:\d+ /
const PLACES_MAX = 3

/** Lines with a place in the files; quoted file content stays on the machine. */
function placesIn(detail: string): readonly string[] {
  const lines = detail.split('\n').filter((line) => line.trim() !== '')
  const places = lines.filter((line) => PLACE.test(line))
  return (places.length > 0 ? places : lines).slice(0, PLACES_MAX).map(said)
}

const SERVICE = 'telegram'
const TOPIC = 'remote'
/** Minimum time between log lines about a lasting state. */
const TOLD_AGAIN_MS = 600_000

/** Outsiders can cause these endlessly: each is counted, but logged at most once a minute. `obeyed` is always logged. */
const MESSAGE_LEVELS: Readonly<Record<RemoteOutcome, LogLevel>> = {
  obeyed: 'info',
  answered: 'debug',
  refused: 'info',
  stale: 'warn',
  replayed: 'warn',
  flood: 'warn',
  stranger: 'info',
  unreadable: 'debug',
}

export const REMOTE = {
  'remote-message'({ type, outcome, user, detail }, { log, metrics }, { isNews }) {
    metrics.remoteMessages.inc({ outcome })
    const isLogged = outcome === 'obeyed' || isNews(`remote ${outcome}`)
    log[isLogged ? MESSAGE_LEVELS[outcome] : 'debug'](detail, { event: type, outcome, user })
  },

  'remote-link': {
    observe({ type, link, detail }, { log, metrics }, { isNews }) {
      metrics.remoteListening.set({ service: SERVICE }, link === 'listening' ? 1 : 0)
      const fields = { event: type, link }
      const isLogged = isNews(`remote link ${link}`, TOLD_AGAIN_MS)
      if (link === 'refused') log.error(detail, fields)
      else if (!isLogged) log.debug(detail, fields)
      else log[link === 'listening' ? 'info' : 'warn'](detail, fields)
    },
    notify({ link, detail }) {
      if (link !== 'conflict' && link !== 'refused') return undefined
      const isConflict = link === 'conflict'
      const subject = isConflict
        ? 'Another client uses your Telegram bot'
        : 'The daemon cannot use its Telegram bot'
      const lines = [
        ...sentence(detail),
        'Meanwhile it accepts no commands there. Trading continues; `tranched pause` and `tranched halt` work on its machine.',
        isConflict
          ? 'Unless it is a second daemon of yours, get a new token from BotFather and restart.'
          : 'Check the token under `control.telegram`, and restart.',
      ]
      const over = 'The daemon listens on Telegram again'
      return notification('trouble', subject, lines, { topic: TOPIC, over })
    },
    ends: ({ link }) => (link === 'listening' ? [TOPIC] : []),
  },

  'remote-unsent': ({ type, detail }, { log }, { isNews }) =>
    log[isNews('remote unsent') ? 'warn' : 'debug'](detail, { event: type }),
} satisfies Partial<Handlers>
