// Which files do the bundlers load as text?
/** A shell script. */
declare module "*.sh" {
  const text: string;
  export default text;
}
declare module "*.zsh" {
  const text: string;
  export default text;
}
declare module "*.fish" {
  const text: string;
  export default text;
}
