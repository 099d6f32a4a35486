import { createModuleHost, type ModuleHost } from '../../adapters/modules/host.ts'
import type { Log } from '../../adapters/tell/log.ts'
import { requiredPart } from './installed.ts'

/** Lines that modules say before there is a log are kept up to this many. */
const UNTOLD_MAX = 100
const RUNNER = 'module-runner.mjs'

/** The modules of a daemon or a command. */
export type OpenedModules = ModuleHost & {
  /** Writes what modules say, and have said, to a log. */
  tellTo(log: Log): void
}

/** Starts nothing yet; `close` ends all that is started. */
export function openModules(): OpenedModules {
  const untold: (readonly [strategy: string, line: string])[] = []
  let log: Log | undefined
  const words = (strategy: string, line: string): void => {
    if (log !== undefined)
      log.debug(`module of ${strategy}: ${line}`, { event: 'module', strategy })
    else if (untold.length < UNTOLD_MAX) untold.push([strategy, line])
  }
  return {
    ...createModuleHost({ runner: () => requiredPart(RUNNER), words }),
    tellTo(opened) {
      log = opened
      for (const [strategy, line] of untold.splice(0)) words(strategy, line)
    },
  }
}

/** Modules for as long as a command runs. */
export async function withModules<Result>(
  task: (modules: OpenedModules) => Promise<Result>,
): Promise<Result> {
  const modules = openModules()
  try {
    return await task(modules)
  } finally {
    await modules.close()
  }
}
