import { resolve } from 'node:path'
import { type ConfigDocument, type Tree, withText } from '../yaml/document.ts'
import { type Problem, problemOf } from '../yaml/problem.ts'
import type { Environment } from './interpolate.ts'

/** Values of command-line flags, as typed. Relative paths start at the working directory. */
export type Overrides = {
  readonly stateDir?: string | undefined
  readonly strategiesDir?: string | undefined
  readonly httpHost?: string | undefined
  readonly httpPort?: string | undefined
  readonly logLevel?: string | undefined
}

type Overridable = {
  readonly name: keyof Overrides
  readonly path: readonly string[]
  readonly variable: string
  readonly flag: string
  readonly isPath?: true
}

const OVERRIDABLE: readonly Overridable[] = [
  {
    name: 'stateDir',
    path: ['stateDir'],
    variable: 'TRANCHED_STATE_DIR',
    flag: '--state-dir',
    isPath: true,
  },
  {
    name: 'strategiesDir',
    path: ['strategiesDir'],
    variable: 'TRANCHED_STRATEGIES_DIR',
    flag: '--strategies-dir',
    isPath: true,
  },
  { name: 'httpHost', path: ['http', 'host'], variable: 'TRANCHED_HTTP_HOST', flag: '--http-host' },
  { name: 'httpPort', path: ['http', 'port'], variable: 'TRANCHED_HTTP_PORT', flag: '--http-port' },
  { name: 'logLevel', path: ['log', 'level'], variable: 'TRANCHED_LOG_LEVEL', flag: '--log-level' },
]

const MODE_VARIABLE = 'TRANCHED_MODE'

/** Puts flags, then environment variables, before what the file says. An empty variable counts as unset. */
export function applyOverrides(
  document: ConfigDocument,
  given: { overrides: Overrides; env: Environment },
): ConfigDocument {
  let changed = document
  for (const { name, path, variable, flag, isPath } of OVERRIDABLE) {
    const typed = given.overrides[name]
    const text = typed ?? (given.env[variable] || undefined)
    if (text === undefined) continue
    changed = withText(changed, {
      path,
      text: isPath && text !== '' ? resolve(text) : text,
      origin: typed === undefined ? `environment variable ${variable}` : `flag ${flag}`,
    })
  }
  return changed
}

/**
 * The mode is read from the file alone, so that no environment turns a rehearsal into trading. A variable that
 * asks for another mode is refused rather than ignored: an operator who set `dry-run` believes that it works.
 */
export function modeVariableProblem(mode: Tree | undefined, env: Environment): Problem | undefined {
  const asked = env[MODE_VARIABLE] ?? ''
  if (asked === '' || asked === mode) return undefined
  return problemOf({
    file: `environment variable ${MODE_VARIABLE}`,
    path: 'mode',
    message: 'the environment cannot change the mode',
    expected: `\`mode:\` in the config file, and ${MODE_VARIABLE} unset`,
  })
}
