// `node scripts/ensure.mjs build`: makes the checkout runnable. Checks the Node version, installs packages when they
// are missing or differ from package-lock.json, and builds when the sources or the commit changed. No packages: it runs
// before they are installed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commitOf, SOURCES } from './commit.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const stampFile = join(root, 'dist/.sources')

if (process.argv[2] !== 'build') fail('usage: node scripts/ensure.mjs build')
requireNode()
if (!isInstalled()) install()
ensureBuilt()

function requireNode() {
  const { engines } = readJson(join(root, 'package.json'))
  if (!satisfies(process.versions.node, engines.node))
    fail(
      `Node ${process.versions.node} cannot run this program: it needs ${engines.node}.\nInstall a supported version (https://nodejs.org), then run the command again.`,
    )
}

/** The two range forms that package.json uses: `^a.b.c` and `>=a.b.c`, joined by `||`. */
function satisfies(version, range) {
  const actual = version.split('.').map(Number)
  return range.split('||').some((part) => {
    const [, operator, text] = /^\s*(\^|>=)(\d+\.\d+\.\d+)\s*$/.exec(part) ?? fail(`unreadable range "${part}"`)
    const wanted = text.split('.').map(Number)
    if (operator === '^' && actual[0] !== wanted[0]) return false
    const differs = wanted.findIndex((number, index) => number !== actual[index])
    return differs === -1 || actual[differs] > wanted[differs]
  })
}

/** npm records what it installed in node_modules; an interrupted install leaves no record. */
function isInstalled() {
  const record = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(record)) return false
  const wanted = readJson(join(root, 'package-lock.json')).packages
  const actual = readJson(record).packages
  return Object.entries(wanted).every(([path, { version, optional, peer }]) => {
    if (path === '') return true
    return actual[path] === undefined ? optional || peer : actual[path].version === version
  })
}

function install() {
  say('installing packages (npm ci)')
  const script = process.env.npm_execpath
  const viaNpm = script !== undefined && /npm-cli\.[cm]?js$/.test(script)
  const [command, ...first] = viaNpm ? [process.execPath, script] : ['npm']
  run(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

function ensureBuilt() {
  const wanted = fingerprint()
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return
  say('building dist/')
  run(process.execPath, [join(root, 'scripts/build.mjs')])
  writeFileSync(stampFile, wanted)
}

/**
 * Content instead of times: a checkout or a restored cache gives files any time. Includes the commit, which the program
 * shows: a commit that changed no source still causes a build.
 */
function fingerprint() {
  const hash = createHash('sha256').update(`${commitOf(root) ?? ''}\0`)
  for (const file of SOURCES.flatMap((name) => filesUnder(join(root, name))).sort())
    hash.update(`${relative(root, file)}\0`).update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}

function filesUnder(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path).flatMap((name) => filesUnder(join(path, name)))
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Output goes to stderr: stdout belongs to the command that follows. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (error) fail(`could not run ${command}: ${error.message}`)
  if (status !== 0) fail(`"${[command, ...args].join(' ')}" failed with exit code ${status}`)
}

function say(text) {
  process.stderr.write(`ensure: ${text}\n`)
}

function fail(text) {
  say(text)
  process.exit(1)
}
