// First step of `npm pack`: refuses files that would be packed by mistake, and builds.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folders that `files` of package.json includes entirely, and in which operators may keep private files. */
const TAKEN_WHOLE = ['config/grafana', 'config/prometheus', 'config/schema', 'strategies', ':(glob)docs/*.md', 'docs/images', 'docs/internals', 'deploy']

const root = fileURLToPath(new URL('..', import.meta.url))
const strays = filesOfNobody()
if (strays.length > 0) {
  console.error(`prepack: these would be in the package, and no commit has them:\n  ${strays.join('\n  ')}\nMove them away, or commit them.`)
  process.exit(1)
}
const { status } = spawnSync(process.execPath, [join(root, 'scripts/ensure.mjs'), 'build'], { stdio: ['ignore', 2, 2] })
process.exit(status ?? 1)

/** Empty without git: an archive holds only committed files. */
function filesOfNobody() {
  const { status, stdout } = spawnSync('git', ['-C', root, 'ls-files', '--others', '--', ...TAKEN_WHOLE], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter((file) => file !== '') : []
}
