import type { Controlled } from '../../../engine/daemon-control.ts'
import type { Clock } from '../../../ports.ts'

/** How long a command is waited for: the disk may be slow, and others may want to halt meanwhile. */
const DONE_MS_MAX = 10_000

/** `late`: not on disk yet, as far as anybody knows; it may come to be. */
type Awaited = Controlled | { readonly ok: false; readonly detail: string; readonly late: true }

/** A command that fails is an answer, and so is one that takes too long. Never rejects. */
export async function doneWithin(
  command: Promise<Controlled>,
  clock: Pick<Clock, 'sleep'>,
): Promise<Awaited> {
  const done = new AbortController()
  const detail = `the disk has not confirmed it within ${DONE_MS_MAX / 1_000} s`
  const late = clock
    .sleep(DONE_MS_MAX, done.signal)
    .then(() => ({ ok: false, detail, late: true }) as const)
  const failed = (error: unknown): Controlled => ({
    ok: false,
    detail: error instanceof Error ? error.message : String(error),
  })
  try {
    return await Promise.race([command.catch(failed), late])
  } finally {
    done.abort()
  }
}
