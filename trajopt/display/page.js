// Runs in the page of a view, below viser's client: its tab, arrow keys, and a panel that is folded on narrow pages.
document.title = TITLE;
if (!window.trajoptPage) {
  window.trajoptPage = true;
  // viser's camera listens at the document: arrows that step through the knots end one element before it
  document.documentElement.addEventListener("keydown", (event) => {
    if (event.code === "ArrowLeft" || event.code === "ArrowRight") event.stopPropagation();
  });
  const fold = (looks) => {
    if (window.innerWidth >= 600 || looks > 100) return;
    const handle = [...document.querySelectorAll("div")].find(
      (each) => each.style.cursor === "pointer" && each.style.height === "3.5em");
    if (handle) handle.click(); else setTimeout(() => fold(looks + 1), 50);
  };
  fold(0);
}
