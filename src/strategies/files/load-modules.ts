import { realpathSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { secretFiles } from '../../config/loose-files.ts'
import type { Problem } from '../../config/yaml/problem.ts'
import { problemAt } from '../../config/yaml/problem-at.ts'
import type { ModuleFault, ModuleStarted, ModuleStrategy } from '../../domain/module.ts'
import type { Settings } from '../../domain/settings.ts'
import { asksModule, type Strategy } from '../registry.ts'

type SecretPlaces = Pick<Settings, 'wallets' | 'http' | 'stateDir'>

/** Starts the modules and returns their problems. No key or state may lie in a module's folder, which it may read. */
export async function loadModules(
  strategies: readonly Strategy[],
  secrets: SecretPlaces,
  start: (strategy: ModuleStrategy) => Promise<ModuleStarted>,
): Promise<readonly Problem[]> {
  const problems = await Promise.all(
    strategies.filter(asksModule).map(async (strategy) => {
      const fault = exposed(strategy, secrets)
      if (fault !== undefined) return [problemAt(strategy.file, fault)]
      const started = await start(strategy)
      return started.ok ? [] : started.faults.map((each) => problemAt(strategy.file, each))
    }),
  )
  return problems.flat()
}

/** Refuses a module whose folder contains a key, password or state. */
function exposed(strategy: ModuleStrategy, secrets: SecretPlaces): ModuleFault | undefined {
  const folder = dirname(realPath(strategy.module))
  const places = [...secretFiles(secrets), secrets.stateDir]
  const secret = places.find((place) => {
    const way = relative(folder, realPath(place))
    return way !== '..' && !way.startsWith(`..${sep}`)
  })
  if (secret === undefined) return undefined
  return {
    path: ['module'],
    message: `its folder holds ${secret}, which no module may be able to read`,
    expected: 'a module in a folder without keys and state, such as strategies/modules',
  }
}

/** Resolves links; returns the path itself if it does not exist. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
