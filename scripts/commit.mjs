// Finds the commit of a build. No packages: scripts/ensure.mjs runs before they are installed.
import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'

const DIGITS = 7

/** The sources of a build, by path from the root: changes elsewhere do not change the program. */
export const SOURCES = ['src', 'scripts/build.mjs', 'scripts/commit.mjs', 'package.json', 'package-lock.json']

/**
 * `741c21a`, or `741c21a+changes` if the sources differ from the commit. Without git (an archive, an image's context)
 * it is the value of TRANCHED_COMMIT, or undefined.
 */
export function commitOf(root) {
  // A copy inside an unrelated repository must not get a commit of that one.
  const top = git(root, 'rev-parse', '--show-toplevel')
  if (top === undefined || realpathSync(top) !== realpathSync(root)) return process.env.TRANCHED_COMMIT || undefined
  const head = git(root, 'rev-parse', 'HEAD')
  const changed = git(root, 'status', '--porcelain', '--', ...SOURCES)
  if (head === undefined || changed === undefined) return undefined
  return `${head.slice(0, DIGITS)}${changed === '' ? '' : '+changes'}`
}

function git(root, ...args) {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
