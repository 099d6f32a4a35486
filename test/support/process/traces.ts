import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Where a program may leave secrets: files, and its command lines, which every user of the machine can read. */

export function filesBelow(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((file) => statSync(file).isFile())
}

/** Every command line of the machine. */
export function processList(): string {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    .join('\n')
}
