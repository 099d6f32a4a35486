import { watch } from 'node:fs'

const SETTLE_MS = 300

/**
 * Calls back once a directory's files, or those of the directories in it, have changed and then been quiet for a moment:
 * editors write a file in several steps. A system that cannot watch calls `onFailure`; nothing else depends on it.
 */
export function watchDirectory(
  dir: string,
  onChange: () => void,
  onFailure: (error: Error) => void,
): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  const changed = (): void => {
    clearTimeout(timer)
    timer = setTimeout(onChange, SETTLE_MS)
    timer.unref()
  }
  try {
    const watcher = watch(dir, { recursive: true, persistent: false }, changed)
    watcher.on('error', onFailure)
    return {
      close() {
        clearTimeout(timer)
        watcher.close()
      },
    }
  } catch (error) {
    onFailure(error instanceof Error ? error : new Error(String(error)))
    return { close: () => undefined }
  }
}
