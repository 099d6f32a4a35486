import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { HeartbeatSettings } from '../../domain/notify.ts'
import type { Clock } from '../../ports.ts'
import { ensureDirectory, PRIVATE_FILE } from '../state/durable-file.ts'
import type { Log } from '../tell/log.ts'
import { judge, openPoster } from './channels/post.ts'

export type PingOptions = {
  readonly settings: HeartbeatSettings
  readonly stateDir: string
  /** Why the daemon is not well, in words; nothing while its loop turns. */
  readonly ailments: () => readonly string[]
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
}

/** The dead man's switch, kept alive. */
export type Ping = {
  begin(): void
  /** The process ends because of a fault. Resolves when that was said, or could not be. */
  failed(message: string): Promise<void>
  close(): Promise<void>
}

const REASON_LENGTH_MAX = 500
const WRITE_MS_MAX = 5_000

/**
 * Asks for an address again and again while the daemon is well: its loop turns, and its state can be written. Silence is the alarm,
 * so whatever goes wrong here just ends it. The address is in no message.
 */
export function createPing({ settings, stateDir, ailments, clock, log }: PingOptions): Ping {
  const { url, everyMs, startAndFail } = settings
  const closed = new AbortController()
  const poster = openPoster(url)
  const below = startAndFail
    ? { start: openPoster(belowOf(url, 'start')), fail: openPoster(belowOf(url, 'fail')) }
    : undefined
  const mark = join(stateDir, 'outbox', 'heartbeat')
  let isMissed = false
  let keeping: Promise<void> | undefined

  async function keep(): Promise<void> {
    await ensureDirectory(dirname(mark)).catch(() => undefined)
    await below?.start.get()
    while (!closed.signal.aborted) {
      const reasons = [...ailments(), ...(await unwritable())]
      if (reasons.length === 0) note(await poster.get())
      else await below?.fail.post(reasons.join('; ').slice(0, REASON_LENGTH_MAX))
      await clock.sleep(everyMs, closed.signal)
    }
  }

  function note(answer: Awaited<ReturnType<typeof poster.get>>): void {
    const delivery = judge(answer)
    if (!delivery.ok && !isMissed)
      log.warn(`the heartbeat did not arrive: ${delivery.fault}`, { event: 'heartbeat' })
    if (delivery.ok && isMissed) log.info('the heartbeat arrives again', { event: 'heartbeat' })
    isMissed = !delivery.ok
  }

  /** Why the state directory takes nothing. A disk that hangs takes nothing either. */
  async function unwritable(): Promise<readonly string[]> {
    const done = new AbortController()
    const write = writeFile(mark, `${clock.now()}\n`, { mode: PRIVATE_FILE }).then(
      () => [],
      (error: unknown) => [`the state directory cannot be written (${codeOf(error)})`],
    )
    const late = clock
      .sleep(WRITE_MS_MAX, done.signal)
      .then(() => ['the state directory takes nothing'])
    const reasons = await Promise.race([write, late])
    done.abort()
    return reasons
  }

  return {
    begin() {
      keeping = keep().catch((error: unknown) =>
        log.error('the heartbeat has ended', { err: error }),
      )
    },
    async failed(message) {
      await below?.fail.post(message.slice(0, REASON_LENGTH_MAX))
    },
    async close() {
      closed.abort()
      await Promise.all([poster, below?.start, below?.fail].map((each) => each?.close()))
      await keeping
    },
  }
}

function belowOf(url: string, word: string): string {
  const address = new URL(url)
  address.pathname = `${address.pathname.replace(/\/+$/, '')}/${word}`
  return address.href
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
