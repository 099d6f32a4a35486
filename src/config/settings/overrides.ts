import { resolve } from 'node:path'
import { type ConfigDocument, type Tree, withText } from '../yaml/document.ts'
import { type Problem, problemOf } from '../yaml/problem.ts'
import type { Environment } from './interpolate.ts'

/** Keys of the config, each with its variable and its flag. */
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

/** Puts flags, then environment variables, before what the file says. An empty variable counts as unset. */
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
 * The mode is read from the file alone, so that no environment turns a rehearsal into trading. A variable that
 * asks for another mode is refused rather than ignored: an operator who set `dry-run` believes that it works.
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
