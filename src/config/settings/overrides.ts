import { resolve } from 'node:path'
import { type ConfigDocument, type Tree, withText } from '../yaml/document.ts'
import { type Problem, problemOf } from '../yaml/problem.ts'
import type { Environment } from './interpolate.ts'

/** Config keys that can be overridden: path, variable and flag. */
const OVERRIDABLE = {
  stateDir: [['stateDir'], 'TRANCHED_STATE_DIR', '--state-dir'],
  strategiesDir: [['strategiesDir'], 'TRANCHED_STRATEGIES_DIR', '--strategies-dir'],
  httpHost: [['http', 'host'], 'TRANCHED_HTTP_HOST', '--http-host'],
  httpPort: [['http', 'port'], 'TRANCHED_HTTP_PORT', '--http-port'],
  logLevel: [['log', 'level'], 'TRANCHED_LOG_LEVEL', '--log-level'],
} as const

type Overridable = keyof typeof OVERRIDABLE
const PATHS: readonly string[] = ['stateDir', 'strategiesDir'] satisfies readonly Overridable[]

/** Values of command-line flags, as typed. Relative paths start at the working directory. */
export type Overrides = { readonly [Name in Overridable]?: string | undefined }

const MODE_VARIABLE = 'TRANCHED_MODE'

/** Overrides the file's values: flags first, then environment variables. An empty variable counts as unset. */
export function applyOverrides(
  document: ConfigDocument,
  given: { overrides: Overrides; env: Environment },
): ConfigDocument {
  let changed = document
  for (const name of Object.keys(OVERRIDABLE) as Overridable[]) {
    const [path, variable, flag] = OVERRIDABLE[name]
    const typed = given.overrides[name]
    const text = typed ?? (given.env[variable] || undefined)
    if (text === undefined) continue
    changed = withText(changed, {
      path,
      text: PATHS.includes(name) && text !== '' ? resolve(text) : text,
      origin: typed === undefined ? `environment variable ${variable}` : `flag ${flag}`,
    })
  }
  return changed
}

/**
 * Only the file sets the mode, so that no environment turns a rehearsal into trading. A variable with another mode is a
 * problem, not ignored: an operator who set `dry-run` relies on it.
 */
export function modeVariableProblem(mode: Tree | undefined, env: Environment): Problem | undefined {
  const wanted = env[MODE_VARIABLE] ?? ''
  if (wanted === '' || wanted === mode) return undefined
  return problemOf({
    file: `environment variable ${MODE_VARIABLE}`,
    path: 'mode',
    message: 'the environment cannot change the mode',
    expected: `\`mode:\` in the config file, and ${MODE_VARIABLE} unset`,
  })
}
