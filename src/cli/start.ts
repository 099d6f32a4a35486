#!/usr/bin/env node
import { VERSION_TEXT } from './process/version.ts'

// Runs before any other module loads. Without a listener, SIGUSR1 makes Node open its debugger on loopback, where every user
// of the machine can read the heap, and a key in it.
process.on('SIGUSR1', () => undefined)
const [, , command = ''] = process.argv
/** They load a third of the program's code. */
const READING = ['status', 'ps', 'history', 'why']
/** Their code is so small that it starts fastest as a module of its own, which scripts/build.mjs makes of main.ts. */
const isShort = ['halt', 'completion', '--version', '--help', '-h', 'help'].includes(command)
if (command === '--version' && process.argv.length === 3) process.stdout.write(`${VERSION_TEXT}\n`)
else if (isShort) void import('./main.ts')
else
  void import('./load-program.ts').then(({ loadProgram }) => {
    const bundle = READING.includes(command) ? 'reading.js' : 'program.js'
    loadProgram(bundle, { keeps: command === 'run' || command === 'status' })['main']?.()
  })
