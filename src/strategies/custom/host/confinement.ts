import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** MiB of a module's heap. */
const HEAP_MIB_MAX = 128
/** KiB of a process's data. Node 24 alone reserves 570,000. */
const DATA_KIB_MAX = 1_048_576
/** Seconds of processor time until the system ends a process, such as a module that loops after the daemon was killed. */
const CPU_SECONDS_MAX = 60

/**
 * Limits set by the operating system: no core dump, no writes, bounded memory and processor time. On Linux the process also
 * ends with the daemon. Tighter limits stay.
 */
const LIMITS = `
for limit in 'c 0' 'f 0' 'd ${DATA_KIB_MAX}' 't ${CPU_SECONDS_MAX}'; do ulimit -\${limit% *} \${limit#* } 2>/dev/null || :; done
if [ -x /usr/bin/setpriv ] && /usr/bin/setpriv --pdeathsig KILL true 2>/dev/null
then exec /usr/bin/setpriv --pdeathsig KILL "$@"
else exec "$@"
fi`

export type Confined = { readonly command: string; readonly args: readonly string[] }

/** Folders that a module may read and run code from: its own with links resolved, and each `node_modules` above it. */
export function reachOf(module: string): readonly string[] {
  const folder = dirname(existsSync(module) ? realpathSync(module) : module)
  return [`${folder}/`, ...packagesAbove(folder)]
}

/**
 * The command of a confined module, which reads only its reach and the runner, and writes and starts nothing. Give it an
 * empty environment.
 */
export function confine(module: string, runner: string): Confined {
  const readable = apart([...reachOf(module), runner])
  return {
    command: '/bin/sh',
    args: [
      '-c',
      LIMITS,
      'sh',
      process.execPath,
      permissionFlag(),
      ...readable.map((path) => `--allow-fs-read=${path.endsWith('/') ? `${path}*` : path}`),
      '--no-warnings',
      '--no-addons',
      // Code made from text could run as the runner, which may import anything.
      '--disallow-code-generation-from-strings',
      '--experimental-vm-modules',
      '--experimental-import-meta-resolve',
      `--max-old-space-size=${HEAP_MIB_MAX}`,
      runner,
    ],
  }
}

/** Node 20 has only the old flag name. */
function permissionFlag(): string {
  const name = '--permission'
  return process.allowedNodeEnvironmentFlags.has(name) ? name : '--experimental-permission'
}

/** `node_modules` above a folder, by name and with links resolved. */
function packagesAbove(folder: string): readonly string[] {
  const above = dirname(folder)
  if (above === folder) return []
  const packages = join(above, 'node_modules')
  const here = existsSync(packages) ? [`${packages}/`, `${realpathSync(packages)}/`] : []
  return [...here, ...packagesAbove(above)]
}

/** Removes repeated and contained paths, because Node 20 crashes on them. */
function apart(paths: readonly string[]): readonly string[] {
  const distinct = [...new Set(paths)]
  return distinct.filter(
    (path) =>
      !distinct.some((other) => other !== path && other.endsWith('/') && path.startsWith(other)),
  )
}
