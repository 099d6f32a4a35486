import type { Log } from '../../adapters/tell/log.ts'
import { renderProblem } from '../../config/yaml/problem.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { DaemonControl } from '../../engine/daemon.ts'
import type { Loaded } from '../load.ts'
import { changesBetween, readTexts, type StrategyChange } from './strategy-changes.ts'

export type ReloadResult =
  | { readonly ok: true; readonly changes: readonly StrategyChange[] }
  | { readonly ok: false; readonly detail: string }

export type ReloadInput = {
  /** Reads all files again, just as at the start. */
  readonly load: () => Promise<Loaded>
  readonly strategies: readonly Strategy[]
  readonly control: Pick<DaemonControl, 'reload'>
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  readonly log: Log
}

/** Reads strategy files again, one reading after the other. What is wrong is told, and the old ones keep running. */
export function createReloader(input: ReloadInput): () => Promise<ReloadResult> {
  let texts = readTexts(input.strategies)
  let last: Promise<unknown> = Promise.resolve()
  const reload = async (): Promise<ReloadResult> => {
    const loaded = await input.load()
    if (!loaded.ok) {
      const detail = loaded.problems
        .map((problem) => renderProblem(problem, { color: false }))
        .join('\n\n')
      input.log.error(`strategies not reloaded, the old ones keep running:\n${detail}`)
      return { ok: false, detail }
    }
    const after = readTexts(loaded.strategies)
    const changes = changesBetween(texts, after)
    if (changes.length === 0) return { ok: true, changes }
    input.registerStrategies(loaded.strategies)
    await input.control.reload(loaded.strategies.filter(({ enabled }) => enabled))
    texts = after
    for (const { strategy, text } of changes)
      input.log.info(`reloaded ${strategy}: ${text}`, { event: 'reloaded', strategy })
    return { ok: true, changes }
  }
  return () => {
    const result = last.then(reload, reload)
    last = result.catch(() => undefined)
    return result
  }
}
