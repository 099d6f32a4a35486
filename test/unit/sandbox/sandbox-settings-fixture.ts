import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { TypedFlag } from '../../../src/sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../src/sandbox/settings/load-sandbox-settings.ts'
import { plain } from '../config/config-fixture.ts'

const FILE = '/etc/sandbox/settings.yaml'

/** Loads a settings file from its text, with flags such as `--seed 3`. */
export function load(
  text: string,
  flags: readonly string[] = [],
  others: Record<string, string> = {},
) {
  const files: Record<string, string> = { [FILE]: text, ...others }
  const readFile = (path: string): string => {
    const found = files[path]
    if (found === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
    return found
  }
  return loadSandboxOptions({ file: FILE, typed: flags.map(typed), readFile })
}

function typed(line: string): TypedFlag {
  const [flag = '', text = ''] = line.split(' ')
  return { flag, text }
}

/** The options that a sandbox would start with. */
export function optionsOf(...given: Parameters<typeof load>): SandboxOptions {
  const loaded = load(...given)
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  return loaded.options
}

export function problemsOf(...given: Parameters<typeof load>) {
  const loaded = load(...given)
  return loaded.ok ? [] : loaded.problems
}
