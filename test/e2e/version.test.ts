import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

const AUTHOR = ['-c', 'user.name=a', '-c', 'user.email=a@b.example', '-c', 'commit.gpgsign=false']
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** Runs a program to its end, without the test environment's TRANCHED_COMMIT. */
function outputOf(cwd: string, file: string, args: readonly string[], commit?: string): string {
  const { TRANCHED_COMMIT: _, ...rest } = process.env
  const env = commit === undefined ? rest : { ...rest, TRANCHED_COMMIT: commit }
  return execFileSync(file, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function commit(cwd: string): string {
  outputOf(cwd, 'git', ['add', '--all'])
  outputOf(cwd, 'git', [...AUTHOR, 'commit', '--quiet', '--allow-empty', '-m', 'x'])
  return outputOf(cwd, 'git', ['rev-parse', 'HEAD']).slice(0, 7)
}

/** The sources of this checkout in their own repository, nested in an unrelated one. */
function checkout(): string {
  const around = temporaryDirectory()
  outputOf(around, 'git', ['init', '--quiet'])
  commit(around)
  const dir = join(around, 'tranched')
  mkdirSync(dir)
  for (const part of ['src', 'scripts', 'package.json', 'package-lock.json', '.gitignore'])
    cpSync(join(ROOT, part), join(dir, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  outputOf(dir, 'git', ['init', '--quiet'])
  return dir
}

function built(dir: string): string {
  outputOf(dir, process.execPath, ['scripts/ensure.mjs', 'build'])
  return outputOf(dir, process.execPath, ['dist/tranched.js', '--version']).trim()
}

test('the version names the commit of the build, also after a commit that changed no source', () => {
  const dir = checkout()
  const first = commit(dir)
  expect(built(dir)).toBe(`tranched ${version} (${first})`)
  appendFileSync(join(dir, 'NOTES.md'), 'changes no source\n')
  const second = commit(dir)
  expect(second).not.toBe(first)
  expect(built(dir)).toBe(`tranched ${version} (${second})`)
})

test('the version marks changed sources, and names no commit without git or inside an unrelated repository', () => {
  const dir = checkout()
  const named = (declared?: string) => {
    const code =
      "import('./scripts/commit.mjs').then((c) => console.log(c.commitOf(process.cwd())))"
    return outputOf(dir, process.execPath, ['-e', code], declared).trim()
  }
  const head = commit(dir)
  appendFileSync(join(dir, 'NOTES.md'), 'no source of the program\n')
  expect(named('abcdef0')).toBe(head)
  appendFileSync(join(dir, 'src/cli/main.ts'), '\n')
  expect(named()).toBe(`${head}+changes`)
  outputOf(dir, 'git', ['checkout', '--quiet', 'src'])
  appendFileSync(join(dir, 'src/more.ts'), '\n')
  expect(named()).toBe(`${head}+changes`)
  rmSync(join(dir, '.git'), { recursive: true })
  expect(named()).toBe('undefined')
  expect(named('abcdef0')).toBe('abcdef0')
})
