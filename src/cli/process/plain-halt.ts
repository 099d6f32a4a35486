import type { TargetOptions } from '../load-files.ts'
import { defaultConfig, type Io, isNamedBy } from './io.ts'

const KEYS = new Map([
  ['--config', 'config'],
  ['--state-dir', 'stateDir'],
] as const)

/**
 * Options of the kill switch as it is usually typed: flags that name a daemon, each before its value. Such a command line
 * needs no parser, whose code takes longer than the halt. Undefined for any other.
 */
export function plainHalt(
  [command, ...words]: readonly string[],
  io: Pick<Io, 'env'>,
): TargetOptions | undefined {
  if (command !== 'halt') return undefined
  const typed: { config?: string; stateDir?: string; json?: true } = {}
  while (words.length > 0) {
    const [flag = '', value = '-'] = words.splice(0, words[0] === '--json' ? 1 : 2)
    const key = KEYS.get(flag as '--config')
    if (flag === '--json') typed.json = true
    else if (key === undefined || value.startsWith('-')) return undefined
    else typed[key] = value
  }
  const isNamed = typed.config !== undefined || typed.stateDir !== undefined || isNamedBy(io)
  return { config: defaultConfig(io), ...typed, isNamed }
}
