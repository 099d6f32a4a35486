import type { SandboxLog } from './log.ts'

/** Runs a task now and then, never twice at once; returns how to end it after the run under way. */
export function repeat(
  everyMs: number,
  task: () => Promise<void>,
  log: SandboxLog,
): () => Promise<void> {
  let running: Promise<void> | undefined
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
