import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'

const SETTLE_MS = 300
/** Files that keep changing are reported after this time. */
const SETTLE_MS_MAX = 3_000
const INNER_DIRECTORIES_MAX = 64

/**
 * Calls `onChange` once files in a directory or its direct subdirectories have changed and then stayed unchanged for
 * `SETTLE_MS`, because editors write in several steps. Calls `onFailure` when watching ends.
 */
export function watchDirectory(
  dir: string,
  onChange: () => void,
  onFailure: (error: Error) => void,
): { close(): void } {
  let watchers: readonly FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  let changedSinceMs: number | undefined

  const settle = (): void => {
    changedSinceMs = undefined
    renew()
    onChange()
  }
  const changed = (): void => {
    const nowMs = performance.now()
    changedSinceMs ??= nowMs
    clearTimeout(timer)
    timer = setTimeout(settle, Math.min(SETTLE_MS, changedSinceMs + SETTLE_MS_MAX - nowMs))
    timer.unref()
  }
  /** Replaces all watchers, so that new and replaced directories are watched. */
  const renew = (): void => {
    const before = watchers
    try {
      watchers = directoriesIn(dir).flatMap((each) => watchOne(each, changed) ?? [])
      if (watchers.length === 0) throw new Error(`${dir} cannot be watched`)
    } catch (error) {
      watchers = []
      onFailure(error instanceof Error ? error : new Error(String(error)))
    }
    for (const watcher of before) watcher.close()
  }

  renew()
  return {
    close() {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
    },
  }
}

/** The directory and its direct subdirectories. Watching these is far cheaper than watching each file. */
function directoriesIn(dir: string): readonly string[] {
  const inner = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .slice(0, INNER_DIRECTORIES_MAX)
  return [dir, ...inner.map(({ name }) => join(dir, name))]
}

/** Undefined for a removed directory; its parent reports the change. */
function watchOne(dir: string, changed: () => void): FSWatcher | undefined {
  try {
    return watch(dir, { persistent: false }, changed).on('error', changed)
  } catch {
    return undefined
  }
}
