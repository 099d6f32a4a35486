import { resolve } from 'node:path'
import { type ConfigDocument, pathKey, type Tree } from '../yaml/document.ts'
import { type Path, type Problem, problemOf } from '../yaml/problem.ts'
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
  const origins = new Map(document.origins)
  let tree = document.tree
  for (const { name, path, variable, flag, isPath } of OVERRIDABLE) {
    const typed = given.overrides[name]
    const text = typed ?? (given.env[variable] || undefined)
    if (text === undefined) continue
    tree = withValue(tree, path, isPath && text !== '' ? resolve(text) : text)
    origins.set(
      pathKey(path),
      typed === undefined ? `environment variable ${variable}` : `flag ${flag}`,
    )
  }
  return { ...document, tree, origins }
}

/** Where the file has something else than a map on the way, the file is at fault and stays as it is. */
function withValue(tree: Tree | undefined, path: Path, value: string): Tree {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (tree === undefined) return { [key]: withValue(undefined, rest, value) }
  if (tree === null || typeof tree === 'string' || Array.isArray(tree)) return tree
  const map = tree as { readonly [key: string]: Tree }
  return { ...map, [key]: withValue(map[key], rest, value) }
}

/**
 * The mode is read from the file alone, so that no environment turns a rehearsal into trading. A variable that
 * asks for another mode is refused rather than ignored: whoever set it to `dry-run` believes that it works.
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
