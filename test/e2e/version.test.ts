import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

const AUTHOR = ['-c', 'user.name=a', '-c', 'user.email=a@b.example', '-c', 'commit.gpgsign=false']
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** Runs a program to its end, with no say of whoever runs the tests about the commit. */
function said(cwd: string, file: string, args: readonly string[], commit?: string): string {
  const { TRANCHED_COMMIT: _, ...rest } = process.env
  const env = commit === undefined ? rest : { ...rest, TRANCHED_COMMIT: commit }
  return execFileSync(file, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function commit(cwd: string): string {
  said(cwd, 'git', ['add', '--all'])
  said(cwd, 'git', [...AUTHOR, 'commit', '--quiet', '--allow-empty', '-m', 'x'])
  return said(cwd, 'git', ['rev-parse', 'HEAD']).slice(0, 7)
}

/** The sources as they lie here, in a repository of their own that lies in somebody else's. */
function checkout(): string {
  const around = temporaryDirectory()
  said(around, 'git', ['init', '--quiet'])
  commit(around)
  const dir = join(around, 'tranched')
  mkdirSync(dir)
  for (const part of ['src', 'scripts', 'package.json', 'package-lock.json', '.gitignore'])
    cpSync(join(ROOT, part), join(dir, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  said(dir, 'git', ['init', '--quiet'])
  return dir
}

function built(dir: string): string {
  said(dir, process.execPath, ['scripts/ensure.mjs', 'build'])
  return said(dir, process.execPath, ['dist/tranched.js', '--version']).trim()
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

test('changed sources are told, a missing git is no commit, and nor is that of a repository around', () => {
  const dir = checkout()
  const named = (told?: string) => {
    const code =
      "import('./scripts/commit.mjs').then((c) => console.log(c.commitOf(process.cwd())))"
    return said(dir, process.execPath, ['-e', code], told).trim()
  }
  const head = commit(dir)
  appendFileSync(join(dir, 'NOTES.md'), 'no source of the program\n')
  expect(named('abcdef0')).toBe(head)
  appendFileSync(join(dir, 'src/cli/main.ts'), '\n')
  expect(named()).toBe(`${head}+changes`)
  said(dir, 'git', ['checkout', '--quiet', 'src'])
  appendFileSync(join(dir, 'src/more.ts'), '\n')
  expect(named()).toBe(`${head}+changes`)
  rmSync(join(dir, '.git'), { recursive: true })
  expect(named()).toBe('undefined')
  expect(named('abcdef0')).toBe('abcdef0')
})
