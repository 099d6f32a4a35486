import { realpathSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import type { ModuleFault, ModuleStarted } from '../../domain/module.ts'
import type { Settings } from '../../domain/settings.ts'
import type { CustomStrategy, Strategy } from '../../domain/strategy.ts'
import type { Problem } from '../yaml/problem.ts'
import { problemAt } from '../yaml/problem-at.ts'

/** What has to stay out of a module's reach. */
export type SecretPlaces = Pick<Settings, 'wallets' | 'stateDir'>

/**
 * Starts the module of every strategy that has one, and gives what is wrong with them. A module runs apart, and may
 * read its own folder: no key and no state may be in there.
 */
export async function loadModules(
  strategies: readonly Strategy[],
  secrets: SecretPlaces,
  start: (strategy: CustomStrategy) => Promise<ModuleStarted>,
): Promise<readonly Problem[]> {
  const custom = strategies.filter((strategy) => strategy.kind === 'custom')
  const problems = await Promise.all(
    custom.map(async (strategy) => {
      const fault = exposed(strategy, secrets)
      if (fault !== undefined) return [problemAt(strategy.file, fault)]
      const started = await start(strategy)
      return started.ok ? [] : started.faults.map((each) => problemAt(strategy.file, each))
    }),
  )
  return problems.flat()
}

/** A key, password or state that lies in the folder of a module, or below. */
function exposed(strategy: CustomStrategy, secrets: SecretPlaces): ModuleFault | undefined {
  const folder = dirname(realPath(strategy.module))
  const secret = placesOf(secrets).find((place) => isWithin(folder, realPath(place)))
  if (secret === undefined) return undefined
  return {
    path: ['module'],
    message: `its folder holds ${secret}, which no module may be able to read`,
    expected: 'a module in a folder without keys and state, such as strategies/modules',
  }
}

function placesOf({ wallets, stateDir }: SecretPlaces): readonly string[] {
  const files = [...wallets.values()].flatMap((source) => {
    switch (source.type) {
      case 'keystore':
        return [source.keystore, source.passwordFile]
      case 'privateKeyFile':
        return [source.file]
      default:
        return []
    }
  })
  return [...files, stateDir]
}

function isWithin(folder: string, place: string): boolean {
  const way = relative(folder, place)
  return way !== '..' && !way.startsWith(`..${sep}`)
}

/** Where links lead; the path itself where there is nothing yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
