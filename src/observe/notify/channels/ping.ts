import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { duration, flag, webAddress } from '../../../config/scalars.ts'
import { codeOf } from '../../../domain/errors.ts'
import type { Clock } from '../../../ports.ts'
import { ensureDirectory, PRIVATE_FILE } from '../../../system/durable-file.ts'
import type { Log } from '../../log.ts'
import { type FieldText, plain, schemaOf, secretAddress, textsOf } from './channel.ts'
import { deliveryOf, openPoster } from './post.ts'

const fields = () => ({
  url: secretAddress(webAddress.describe('URL to request at intervals while the daemon is well')),
  every: plain(duration({ min: '10s', max: '1h' }).prefault('1m').describe('Ping interval')),
  startAndFail: plain(
    flag
      .prefault('false')
      .describe('Also request /start and /fail below the URL, as defined by healthchecks.io'),
  ),
})

/** `notify.heartbeat`: an external monitor raises the alarm when the pings stop. */
export const heartbeatSchema = z.lazy(() =>
  schemaOf(fields()).transform(({ url, every, startAndFail }) => ({
    url,
    everyMs: every,
    startAndFail,
  })),
)

type HeartbeatSettings = z.output<typeof heartbeatSchema>

export function heartbeatTexts(settings: HeartbeatSettings): readonly FieldText[] {
  return textsOf(fields(), settings, ['notify', 'heartbeat'])
}

type PingOptions = {
  readonly settings: HeartbeatSettings
  readonly stateDir: string
  /** Why the daemon is unhealthy; empty while its loop turns. */
  readonly ailments: () => readonly string[]
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
}

const REASON_LENGTH_MAX = 500
const WRITE_MS_MAX = 5_000

/**
 * Pings at intervals while the daemon is healthy: its loop turns, and its state is writable. Silence is the alarm, so a
 * fault here only ends the pings. No message contains the address.
 */
export async function createPing(options: PingOptions) {
  const { settings, stateDir, ailments, clock, log } = options
  const { url, everyMs, startAndFail } = settings
  const closed = new AbortController()
  const poster = await openPoster(url)
  const below = startAndFail && {
    start: await openPoster(belowOf(url, 'start')),
    fail: await openPoster(belowOf(url, 'fail')),
  }
  const mark = join(stateDir, 'outbox', 'heartbeat')
  let isMissed = false
  let keeping: Promise<void> | undefined

  async function keep(): Promise<void> {
    await ensureDirectory(dirname(mark)).catch(() => undefined)
    if (below) await below.start.get()
    while (!closed.signal.aborted) {
      const reasons = [...ailments(), ...(await unwritable())]
      if (reasons.length === 0) note(await poster.get())
      else if (below) await below.fail.post(reasons.join('; ').slice(0, REASON_LENGTH_MAX))
      await clock.sleep(everyMs, closed.signal)
    }
  }

  function note(answer: Awaited<ReturnType<typeof poster.get>>): void {
    const delivery = deliveryOf(answer)
    if (!delivery.ok && !isMissed)
      log.warn(`the heartbeat did not arrive: ${delivery.fault}`, { event: 'heartbeat' })
    if (delivery.ok && isMissed) log.info('the heartbeat arrives again', { event: 'heartbeat' })
    isMissed = !delivery.ok
  }

  /** A hanging disk counts as not writable. */
  async function unwritable(): Promise<readonly string[]> {
    const done = new AbortController()
    const write = writeFile(mark, `${clock.now()}\n`, { mode: PRIVATE_FILE }).then(
      () => [],
      (error: unknown) => [`the state directory cannot be written (${codeOf(error) ?? 'unknown'})`],
    )
    const late = clock
      .sleep(WRITE_MS_MAX, done.signal)
      .then(() => ['the state directory does not accept writes in time'])
    const reasons = await Promise.race([write, late])
    done.abort()
    return reasons
  }

  return {
    begin(): void {
      keeping = keep().catch((error: unknown) =>
        log.error('the heartbeat has ended', { err: error }),
      )
    },
    /** The process ends because of a fault. Resolves once the ping was sent, or failed. */
    async failed(message: string): Promise<void> {
      if (below) await below.fail.post(message.slice(0, REASON_LENGTH_MAX))
    },
    async close(): Promise<void> {
      closed.abort()
      await Promise.all([poster, ...Object.values(below || {})].map(({ close }) => close()))
      await keeping
    },
  }
}

function belowOf(url: string, word: string): string {
  const address = new URL(url)
  address.pathname = `${address.pathname.replace(/\/+$/, '')}/${word}`
  return address.href
}
