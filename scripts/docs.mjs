// `npm run docs`: builds docs/ into a searchable site, docs/.vitepress/dist. Its packages are in docs/node_modules, so
// that the program and its tests need none of them. A dead link fails the build.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const lockOf = (file) => JSON.parse(readFileSync(`${docs}${file}`, 'utf8')).packages

/** npm's record of the installation; it omits platform packages that do not fit this machine. */
function isInstalled() {
  const record = 'node_modules/.package-lock.json'
  if (!existsSync(`${docs}${record}`)) return false
  const installed = lockOf(record)
  return Object.entries(lockOf('package-lock.json')).every(
    ([path, { version, optional }]) => path === '' || (installed[path] ? installed[path].version === version : optional),
  )
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: docs, stdio: 'inherit' })
  if (error) console.error(`docs: could not run ${command}: ${error.message}`)
  if (status !== 0) process.exit(status ?? 1)
}

if (!isInstalled()) run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'])
run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build', ...process.argv.slice(2)])
