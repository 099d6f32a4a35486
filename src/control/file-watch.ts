import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'

const SETTLE_MS = 300
/** Files that never come to rest are reported all the same. */
const SETTLE_MS_MAX = 3_000
/** Directories inside the watched one that are watched as well. */
const INNER_DIRECTORIES_MAX = 64

/**
 * Calls back once a directory's files, or those of the directories in it, have changed and then been quiet for a moment:
 * editors write a file in several steps. Calls `onFailure` when watching ends.
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
  /** A directory that was replaced has another identity, and a new one inside is not watched yet. */
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

/** The directory and those directly inside it; a watch on each is far cheaper than one on each file. */
function directoriesIn(dir: string): readonly string[] {
  const inner = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .slice(0, INNER_DIRECTORIES_MAX)
  return [dir, ...inner.map(({ name }) => join(dir, name))]
}

/** Undefined for a directory that is gone; its parent reports the change. */
function watchOne(dir: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(dir, { persistent: false }, changed)
    return watcher.on('error', changed)
  } catch {
    return undefined
  }
}
