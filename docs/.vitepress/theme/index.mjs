// The default theme with the fonts of the system: no page asks another host for anything.
export { default } from 'vitepress/theme-without-fonts'
