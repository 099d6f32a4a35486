import type { RemoteOutcome } from '../../domain/remote.ts'
import type { LogLevel } from './log.ts'
import type { Tellers } from './observers.ts'

const SERVICE = 'telegram'
/** What lasts for hours is told every ten minutes. */
const TOLD_AGAIN_MS = 600_000

/** What somebody outside can make happen without end is told once a minute at most; it is counted each time. */
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

/** People who speak to the daemon from afar. */
export const REMOTE = {
  'remote-message'({ type, outcome, user, detail }, { log, metrics }, { isNews }) {
    metrics.remoteMessages.inc({ outcome })
    const isTold = outcome === 'obeyed' || isNews(`remote ${outcome}`)
    log[isTold ? MESSAGE_LEVELS[outcome] : 'debug'](detail, { event: type, outcome, user })
  },

  /** The rest goes on without it. */
  'remote-link'({ type, link, detail }, { log, metrics }, { isNews }) {
    metrics.remoteListening.set({ service: SERVICE }, link === 'listening' ? 1 : 0)
    const fields = { event: type, link }
    const isTold = isNews(`remote link ${link}`, TOLD_AGAIN_MS)
    if (link === 'refused') log.error(detail, fields)
    else if (!isTold) log.debug(detail, fields)
    else log[link === 'listening' ? 'info' : 'warn'](detail, fields)
  },

  'remote-unsent'({ type, detail }, { log }, { isNews }) {
    log[isNews('remote unsent') ? 'warn' : 'debug'](detail, { event: type })
  },
} satisfies Partial<Tellers>
