import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../observe/log.ts'
import { createModuleHost, type ModuleHost } from '../../strategies/custom/host/host.ts'

/** Maximum lines kept until there is a log. */
const KEPT_MAX = 100
const RUNNER = 'module-runner.mjs'

export type OpenedModules = ModuleHost & {
  logTo(log: Log): void
}

/** Starts nothing yet; `close` ends all started modules. */
export function openModules(): OpenedModules {
  const kept: (readonly [strategy: string, line: string])[] = []
  let log: Log | undefined
  const output = (strategy: string, line: string): void => {
    if (log !== undefined)
      log.debug(`module of ${strategy}: ${line}`, { event: 'module', strategy })
    else if (kept.length < KEPT_MAX) kept.push([strategy, line])
  }
  return {
    ...createModuleHost({ runner: () => requiredPart(RUNNER), output }),
    logTo(opened) {
      log = opened
      for (const [strategy, line] of kept.splice(0)) output(strategy, line)
    },
  }
}

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

/** Path of a separate program part: beside the bundle or, when run from sources, in the checkout's build; or undefined. */
export function installedPart(name: string): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    const found = [join(dir, name), join(dir, 'dist', name)].find((file) => existsSync(file))
    if (found !== undefined) return found
    const above = dirname(dir)
    if (above === dir) return undefined
    dir = above
  }
}

/** A part that every installation has. */
export function requiredPart(name: string): string {
  const found = installedPart(name)
  if (found === undefined) throw new Error(`the installation is incomplete: ${name} is missing`)
  return found
}
