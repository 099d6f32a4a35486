import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** MiB of objects that a module may hold. */
export const HEAP_MIB_MAX = 128
/** KiB of memory of any kind. Node 24 alone sets 570,000 of them aside. */
const DATA_KIB_MAX = 1_048_576
/**
 * Seconds of processor time after which the system ends a process. It is started afresh long before; this is for one
 * that loops while the daemon is killed, where the system cannot tie the one's life to the other's.
 */
const CPU_SECONDS_MAX = 60

/**
 * Limits of the operating system beneath those of Node: no core dump, no byte in any file, bounded memory and processor
 * time, and on Linux an end together with the daemon. A limit that is tighter already stays.
 */
const LIMITS = `
for limit in 'c 0' 'f 0' 'd ${DATA_KIB_MAX}' 't ${CPU_SECONDS_MAX}'; do ulimit -\${limit% *} \${limit#* } 2>/dev/null || :; done
if [ -x /usr/bin/setpriv ] && /usr/bin/setpriv --pdeathsig KILL true 2>/dev/null
then exec /usr/bin/setpriv --pdeathsig KILL "$@"
else exec "$@"
fi`

export type Confined = { readonly command: string; readonly args: readonly string[] }

/**
 * Folders that the process of a module may read, and run what is in them: its own, and each `node_modules` from there upwards.
 * Of a link it is the place that it leads to.
 */
export function reachOf(module: string): readonly string[] {
  const folder = dirname(existsSync(module) ? realpathSync(module) : module)
  return [`${folder}/`, ...packagesAbove(folder)]
}

/**
 * The command that runs a module apart: it reads what is in its reach and the runner, and nothing else; it writes nothing and
 * starts nothing. Give it an empty environment.
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
      // Code made of text could belong to the runner, which may import what it likes.
      '--disallow-code-generation-from-strings',
      '--experimental-vm-modules',
      '--experimental-import-meta-resolve',
      `--max-old-space-size=${HEAP_MIB_MAX}`,
      runner,
    ],
  }
}

/** Node 20 knows the permission model by its old name only. */
function permissionFlag(): string {
  const name = '--permission'
  return process.allowedNodeEnvironmentFlags.has(name) ? name : '--experimental-permission'
}

/** Folders of packages above a folder, as they are called and where links lead. */
function packagesAbove(folder: string): readonly string[] {
  const above = dirname(folder)
  if (above === folder) return []
  const packages = join(above, 'node_modules')
  const here = existsSync(packages) ? [`${packages}/`, `${realpathSync(packages)}/`] : []
  return [...here, ...packagesAbove(above)]
}

/** Node 20 crashes over a path that it is told twice, also within a folder. */
function apart(paths: readonly string[]): readonly string[] {
  const distinct = [...new Set(paths)]
  return distinct.filter(
    (path) =>
      !distinct.some((other) => other !== path && other.endsWith('/') && path.startsWith(other)),
  )
}
