import type { SandboxLog } from './log.ts'

/** Runs a task at an interval, never twice at once. Returns a function that stops it and waits for the current run. */
export function repeat(
  everyMs: number,
  task: () => Promise<unknown>,
  log: SandboxLog,
): () => Promise<void> {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= task()
      .catch((error: unknown) => log('sandbox.taskFailed', { error: String(error) }))
      .finally(() => {
        running = undefined
      })
  }, everyMs)
  return async () => {
    clearInterval(timer)
    await running
  }
}
