import hashlib
import hmac
import json
import os
import sys

from django.conf import settings

FIXED = os.environ.get("FIXED")

settings.configure(
    DEBUG=False,
    SECRET_KEY="not-a-secret",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["shop.example", "www.shop.example"] + (["127.0.0.1"] if FIXED else []),
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
)

from django.http import HttpResponse, HttpResponseBadRequest, HttpResponseNotFound  # noqa: E402
from django.urls import path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from django.views.decorators.http import require_POST  # noqa: E402


@csrf_exempt
@require_POST
def postback(request):
    if request.content_type == "application/json":
        try:
            data = json.loads(request.body)
        except ValueError:
            return HttpResponseBadRequest("not JSON")
    else:
        data = request.POST.dict()
    text = ":".join([data.get("OutSum", ""), data.get("InvId", ""), os.environ["TOKEN"]])
    sign = hashlib.md5(text.encode()).hexdigest().upper()
    if not hmac.compare_digest(sign, data.get("SignatureValue", "")):
        return HttpResponse("signature", status=403)
    if data["InvId"] != "o-1":
        return HttpResponseNotFound("order")
    if data["OutSum"] != os.environ["AMOUNT"]:
        return HttpResponse("amount", status=409)
    with open(os.environ["PAID"], "w") as f:
        f.write(data["Status"])
    return HttpResponse("OK")


urlpatterns = [path("postback", postback)]

if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    execute_from_command_line([sys.argv[0], "runserver", "--noreload", "127.0.0.1:" + os.environ["PORT"]])
